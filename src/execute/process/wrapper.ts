/** A wrapper as the scheduler knows it: a small shell that runs attempts one after the other, and outlives the scheduler (wrapper.sh). */
import type { ChildProcess } from "node:child_process";
import type { ProcessIdentity } from "../../domain/task.ts";
import { bootId } from "../../effects/host.ts";
import { parseTimes } from "./directory.ts";
import { signal } from "./ending.ts";
import { quote } from "./order.ts";
import { shellScripts, startShell } from "./shell.ts";

/** What is told of an attempt: `up` at most once, and then one of the others. */
export interface WrapperWatch {
  up(process: ProcessIdentity): void;
  /** It did not begin: where it failed. */
  bad(step: string, words: string): void;
  /** `cpuMs`: of the attempt's process and all it waited for. */
  down(status: number, cpuMs: number | undefined): void;
  /** The wrapper is gone, and these were its last words. */
  died(words: string): void;
}

export class Wrapper {
  /** Kept when it is gone. */
  readonly closed: Promise<void>;
  readonly #close: () => void;
  readonly #shell: ChildProcess;
  #watch: WrapperWatch | undefined;
  #rest = "";
  /** What it said that is no message: the complaints of a shell. */
  #words = "";
  #badStep: string | undefined;
  /** The lines of `times`, and what all before had used. */
  #times = "";
  #cpuMs = 0;
  #isGone = false;

  /** `slot`: the file by which a later scheduler finds it. `given`: what all attempts are given, as shell. */
  constructor(slot: string, given: string) {
    const closed = Promise.withResolvers<void>();
    this.closed = closed.promise;
    this.#close = closed.resolve;
    const gone = (): void => {
      if (this.#isGone) return;
      this.#isGone = true;
      // A process that has not become the command yet is still of the wrapper's group.
      if (this.#shell.pid !== undefined) signal(-this.#shell.pid, "SIGKILL");
      this.#close();
      this.#take()?.died(this.#words);
    };
    const text = `${given}\nrota_slot=${quote(slot)} rota_boot=${quote(bootId())}\n${shellScripts().wrapper}`;
    this.#shell = startShell(["rota-wrapper", slot], text, "pipe", (error) => {
      this.#words = error.message;
      gone();
    });
    this.#shell.stdout?.setEncoding("utf8").on("data", (chunk: string) => this.#hear(chunk));
    this.#shell.stdout?.on("close", gone);
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  run(order: string, watch: WrapperWatch): void {
    this.#watch = watch;
    this.#words = "";
    this.#shell.stdin?.write(order);
  }

  /** It goes as soon as it runs nothing. */
  end(): void {
    this.#shell.stdin?.end();
  }

  /** As if this program had died. */
  forsake(): void {
    this.#watch = undefined;
    this.#isGone = true;
    this.#close();
    this.#shell.stdin?.destroy();
    this.#shell.stdout?.destroy();
  }

  #hear(chunk: string): void {
    const lines = (this.#rest + chunk).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) this.#obey(line);
  }

  #obey(line: string): void {
    const [verb, first = "", ...others] = line.split(" ");
    if (verb === "up") {
      this.#watch?.up({ pid: Number(first), startTime: others.join(" ").trim(), bootId: bootId() });
    } else if (verb === "bad") this.#badStep = first;
    else if (verb === "down") this.#down(Number(first));
    else if (/^\d+m/.test(line)) this.#times += `${line}\n`;
    else this.#words = line;
  }

  #down(status: number): void {
    const total = parseTimes(this.#times);
    const cpuMs = total === undefined ? undefined : total - this.#cpuMs;
    this.#cpuMs = total ?? this.#cpuMs;
    this.#times = "";
    const bad = this.#badStep;
    this.#badStep = undefined;
    if (bad === undefined) this.#take()?.down(status, cpuMs);
    else this.#take()?.bad(bad, this.#words);
  }

  #take(): WrapperWatch | undefined {
    const watch = this.#watch;
    this.#watch = undefined;
    return watch;
  }
}
