/** One command as a user would give it, timed from its start to its end, and a place of its own to run in. */
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

export interface CommandLine {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
}

export interface Timing {
  readonly wallMs: number;
  readonly stdout: string;
}

const TAIL = 2_000;
const INTERRUPTED = 130;
const LEAVING_MS = 3_000;
const LOOK_EVERY_MS = 20;

/** Refused when the command cannot be started or does not succeed: a figure of something that failed says nothing. */
export function timeCommand({ file, args, cwd, env }: CommandLine): Promise<Timing> {
  return new Promise((resolve, reject) => {
    const start = performance.now();
    const child = spawn(file, args, { cwd, env: { ...plainEnvironment(), ...env }, stdio: ["ignore", "pipe", "pipe"] });
    let [stdout, stderr] = ["", ""];
    let wallMs = 0;
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      stdout += chunk;
    });
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
      stderr = (stderr + chunk).slice(-TAIL);
    });
    child.on("error", reject);
    child.on("exit", () => {
      wallMs = performance.now() - start;
    });
    child.on("close", (code) => {
      if (code === 0) resolve({ wallMs, stdout });
      else reject(new Error(`${file} ${args.join(" ")} exited with ${code}: ${(stderr || stdout).slice(-TAIL)}`));
    });
  });
}

/** Without what the npm that started this benchmark, or another set-up of Rota on this machine, would set for programs. */
const plainEnvironment = (): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(?:npm|rota|node_run)_/i.test(name)));

/** A directory that is gone afterwards, also when the benchmark is interrupted, with whatever still runs in it. */
export class Scratch implements Disposable {
  readonly path = realpathSync(mkdtempSync(join(tmpdir(), "rota-bench-")));
  /** What was found running after its command had ended. */
  readonly leftRunning: string[] = [];
  #directories = 0;
  readonly #interrupted = (): void => {
    endProcessesIn(this.path);
    this[Symbol.dispose]();
    process.exit(INTERRUPTED);
  };

  constructor() {
    process.on("SIGINT", this.#interrupted).on("SIGTERM", this.#interrupted);
  }

  /** A name in here that was not used before. */
  fresh(): string {
    return join(this.path, String(++this.#directories));
  }

  /** Ends what a command left running here, and remembers it. What is on its way out has a moment to go. */
  async clear(name: string): Promise<void> {
    const until = performance.now() + LEAVING_MS;
    while (processesIn(this.path).length > 0 && performance.now() < until) await pause(LOOK_EVERY_MS);
    for (const pid of endProcessesIn(this.path)) this.leftRunning.push(`${name}: ${pid}`);
  }

  [Symbol.dispose](): void {
    process.off("SIGINT", this.#interrupted).off("SIGTERM", this.#interrupted);
    rmSync(this.path, { recursive: true, force: true, maxRetries: 5 });
  }
}

function endProcessesIn(directory: string): readonly number[] {
  const pids = processesIn(directory);
  for (const pid of pids) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It has ended by itself meanwhile.
    }
  }
  return pids;
}

/** Processes that work in a directory or were started with its name. Nothing where there is no /proc. */
function processesIn(directory: string): readonly number[] {
  let pids: readonly string[] = [];
  try {
    pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  } catch {
    return [];
  }
  return pids.filter((pid) => mentions(pid, directory)).map(Number);
}

function mentions(pid: string, directory: string): boolean {
  try {
    const command = readFileSync(`/proc/${pid}/cmdline`, "utf8");
    return command.includes(directory) || readlinkSync(`/proc/${pid}/cwd`).startsWith(directory);
  } catch {
    return false;
  }
}
