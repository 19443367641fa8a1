/**
 * The command that does one task for `rota work`: it gets the prompt on standard input, and a process group of its own, which ends with it.
 */
import { spawn } from "node:child_process";
import { StringDecoder } from "node:string_decoder";
import { later, type Millis, seconds } from "../../domain/time.ts";
import { systemClock, type Timer } from "../../effects/clock.ts";

export interface AgentOrder {
  readonly directory: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly prompt: string;
}

export interface AgentEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** The first and the last part of its output. */
  readonly head: string;
  readonly tail: string;
  /** Why it could not be started. */
  readonly fault?: Error;
}

export interface RunningAgent {
  /** Resolves when no process of its group is left, and its output has been read. */
  readonly ended: Promise<AgentEnd>;
  /** Asks the group to end, and kills it after `grace`. May be called again to shorten the grace. */
  stop(grace: Millis): void;
}

export type StartAgent = (order: AgentOrder) => RunningAgent;

/** How much of the output is kept: summaries and failure messages are short. */
const HEAD_MAX = 4_000;
const TAIL_MAX = 1_000;
/** How long processes that the agent has left behind may take to end. */
const LEFTOVERS = seconds(2);

/** `show` is given everything the agent prints. */
export const agentCommand =
  ([program = "", ...args]: readonly string[], show: (text: string) => void, clock = systemClock()): StartAgent =>
  ({ directory, env, prompt }) => {
    const child = spawn(program, args, { cwd: directory, env, detached: true, stdio: "pipe" });
    const output = new Output(show);
    for (const stream of [child.stdout, child.stderr]) {
      const decoder = new StringDecoder("utf8");
      stream.on("data", (bytes: Buffer) => output.take(decoder.write(bytes)));
    }
    // The agent need not read its prompt.
    child.stdin.on("error", () => undefined).end(prompt);

    let kill: Timer | undefined;
    const stop = (grace: Millis): void => {
      kill?.cancel();
      signal(child.pid, "SIGTERM");
      kill = clock.at(later(clock.now(), grace), () => signal(child.pid, "SIGKILL"));
    };
    const ended = new Promise<AgentEnd>((resolve) => {
      child.on("error", (fault) => resolve({ code: null, signal: null, ...output.parts, fault }));
      child.on("exit", () => stop(LEFTOVERS));
      child.on("close", (code, ending) => {
        kill?.cancel();
        signal(child.pid, "SIGKILL");
        resolve({ code, signal: ending, ...output.parts });
      });
    });
    return { ended, stop };
  };

class Output {
  readonly #show: (text: string) => void;
  #head = "";
  #tail = "";

  constructor(show: (text: string) => void) {
    this.#show = show;
  }

  take(text: string): void {
    this.#show(text);
    this.#head = (this.#head + text).slice(0, HEAD_MAX);
    this.#tail = (this.#tail + text).slice(-TAIL_MAX);
  }

  get parts(): { readonly head: string; readonly tail: string } {
    return { head: this.#head.trim().toWellFormed(), tail: this.#tail.trim().toWellFormed() };
  }
}

/** To the whole group, if it still exists. */
function signal(group: number | undefined, name: NodeJS.Signals): void {
  if (group === undefined) return;
  try {
    process.kill(-group, name);
  } catch {
    // No process of the group is left.
  }
}
