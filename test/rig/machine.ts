/** A machine whose processes do nothing by themselves: the test says when each starts, what it shows, and how it ends. */
import type { Outcome } from "../../src/domain/outcome.ts";
import type { ProcessIdentity, StopReason } from "../../src/domain/task.ts";
import { type Millis, millis } from "../../src/domain/time.ts";
import type { Attempt, Executor, Handle, Watch } from "../../src/execute/executor.ts";
import { exit, identity, success } from "./builders.ts";

/** One attempt. It outlives the scheduler that started it, as a process does. */
export class Process {
  readonly attempt: Attempt;
  readonly identity: ProcessIdentity;
  readonly stops: { readonly reason: StopReason; readonly grace: Millis }[] = [];
  outcome: Outcome | undefined;
  #watch: Watch | undefined;
  #tell: ((outcome: Outcome) => void) | undefined;

  constructor(attempt: Attempt, pid: number) {
    this.attempt = attempt;
    this.identity = identity(pid);
  }

  get alive(): boolean {
    return this.outcome === undefined;
  }

  starts(): this {
    this.#watch?.started(this.identity);
    return this;
  }
  shows(): this {
    this.#watch?.progressed();
    return this;
  }
  says(text: string): this {
    this.#watch?.said({ kind: "said", text });
    return this;
  }
  ends(outcome: Outcome): this {
    if (!this.alive) throw new Error(`${this.attempt.task} has already ended`);
    this.outcome = outcome;
    this.#tell?.(outcome);
    return this;
  }
  succeeds(): this {
    return this.ends(success);
  }
  fails(code = 1): this {
    return this.ends(exit(code));
  }
  /** Ends as it was told to. */
  obeys(): this {
    const reason = this.stops[0]?.reason;
    if (reason === undefined) throw new Error(`${this.attempt.task} was not told to stop`);
    const durationMs = millis(5);
    if (reason.kind === "timeout") return this.ends({ kind: "timeout", limit: reason.limit, durationMs });
    return this.ends({ kind: reason.kind, durationMs });
  }

  /** The watching scheduler is gone. */
  orphan(): void {
    this.#watch = undefined;
    this.#tell = undefined;
  }

  attach(watch: Watch): Handle {
    const told = Promise.withResolvers<Outcome>();
    this.#watch = watch;
    this.#tell = told.resolve;
    if (this.outcome !== undefined) told.resolve(this.outcome);
    return { outcome: told.promise, stop: (reason, grace) => void this.stops.push({ reason, grace }) };
  }
}

export class Machine {
  /** Every attempt ever started, in order. */
  readonly processes: Process[] = [];
  readonly #gone = new Set<Process>();
  /** Each adoption waits for the next of these, if there is one. */
  adoptions: Promise<void>[] = [];

  executor(): Executor {
    return {
      start: (attempt, watch) => {
        const process = new Process(attempt, this.processes.length + 1);
        this.processes.push(process);
        return process.attach(watch);
      },
      adopt: async ({ run, task, fence, verification }, _, watch) => {
        await this.adoptions.shift();
        const found = this.processes.find(
          ({ attempt }) =>
            attempt.run === run &&
            attempt.task === task &&
            attempt.fence === fence &&
            attempt.verification === verification,
        );
        return found === undefined || this.#gone.has(found) ? undefined : found.attach(watch);
      },
      sweep: async () => 0,
      [Symbol.asyncDispose]: async () => {},
    };
  }

  /** The newest attempt at the task. */
  at(task: string): Process {
    const found = this.processes.findLast(({ attempt }) => attempt.task === task);
    if (found === undefined) throw new Error(`${task} was never started`);
    return found;
  }

  /** Which tasks run, in the order they were started. */
  get running(): readonly string[] {
    return this.processes.filter(({ alive }) => alive).map(({ attempt }) => attempt.task);
  }
  /** Every start so far. */
  get started(): readonly string[] {
    return this.processes.map(({ attempt }) => attempt.task);
  }

  /** The scheduler is gone; what runs goes on. */
  orphanAll(): void {
    for (const process of this.processes) process.orphan();
  }

  /** Leaves no trace of the process: it did not run to its end, and no scheduler can find it again. */
  lose(process: Process): void {
    if (process.alive) process.outcome = { kind: "lost", durationMs: millis(0) };
    this.#gone.add(process);
  }
  loseAll(): void {
    for (const process of this.processes) this.lose(process);
  }
}
