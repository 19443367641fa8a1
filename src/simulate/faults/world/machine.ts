/** This machine's processes: they outlive the scheduler that started them, end as their fate says, and the next scheduler finds them. */
import type { Outcome } from "../../../domain/outcome.ts";
import type { StopReason } from "../../../domain/task.ts";
import { type Instant, later, type Millis, millis } from "../../../domain/time.ts";
import type { Timer } from "../../../effects/clock.ts";
import type { Attempt, Executor, Handle, Watch } from "../../../execute/executor.ts";
import type { VirtualClock } from "../../clock.ts";
import { type Fate, type FateOf, stoppedWith } from "../actors/fate.ts";
import type { Life } from "./life.ts";

interface Watcher {
  readonly life: Life;
  readonly watch: Watch;
  readonly tell: (outcome: Outcome) => void;
}

interface Process {
  readonly attempt: Attempt;
  readonly fate: Fate;
  readonly startedAt: Instant;
  readonly startedBy: Life;
  readonly pid: number;
  watchers: Watcher[];
  end: Timer | undefined;
  isStarted: boolean;
  outcome: Outcome | undefined;
  stopping: StopReason | undefined;
  /** It was adopted after its end. */
  isToldAgain: boolean;
  /** Every trace of it is gone. */
  isForgotten: boolean;
  /**
   * Started by a scheduler that stood still between its commit and this start, and was replaced meanwhile. Nothing can prevent that; its
   * reports are refused.
   */
  readonly isStray: boolean;
}

export interface MachineDeps {
  readonly clock: VirtualClock;
  readonly fateOf: FateOf;
  readonly trace: (line: string) => void;
  readonly violate: (law: string) => void;
  /** An attempt begins, started by the scheduler in office or by a stray one. */
  readonly begun: (attempt: Attempt, isStray: boolean) => void;
  /** An attempt of the scheduler in office was a success, and it had not been told to end. */
  readonly succeeded: (attempt: Attempt) => void;
  /** How much time, by any clock, the attempt must have had before it may exceed that limit. */
  readonly least: (attempt: Attempt, limit: "soft" | "hard") => Millis;
}

export class Machine {
  readonly #deps: MachineDeps;
  readonly #processes = new Map<string, Process>();
  #pids = 0;

  constructor(deps: MachineDeps) {
    this.#deps = deps;
  }

  /** The attempts that run now. */
  get living(): readonly string[] {
    return [...this.#processes]
      .filter(([, { outcome, isStray }]) => outcome === undefined && !isStray)
      .map(([name]) => name);
  }

  /** The executor of one scheduler, which `isCurrent` as long as no other one has the store. */
  open(life: Life, isCurrent: () => boolean): Executor {
    return {
      start: (attempt, watch) => this.#start(attempt, watch, life, !isCurrent()),
      adopt: (attempt, _, watch) => life.pass(this.#adopt(attempt, watch, life)),
      sweep: () => life.pass(this.#sweep()),
      [Symbol.asyncDispose]: async () => {},
    };
  }

  /** Removes every trace of some processes that no scheduler watches. */
  vanish(isGone: () => boolean): void {
    for (const [name, process] of this.#processes) {
      const isWatched = process.watchers.some(({ life }) => life.isAlive);
      if (process.outcome !== undefined || isWatched || !isGone()) continue;
      this.#deps.trace(`${name} vanished`);
      process.end?.cancel();
      process.outcome = { kind: "lost", durationMs: millis(0) };
      process.isForgotten = true;
    }
  }

  /** The machine reboots: nothing runs, and files of earlier attempts are not believed. */
  restart(): void {
    this.vanish(() => true);
    for (const process of this.#processes.values()) process.isForgotten = true;
  }

  #start(attempt: Attempt, watch: Watch, life: Life, isStray: boolean): Handle {
    const name = nameOf(attempt);
    const told = Promise.withResolvers<Outcome>();
    // A process that is dead starts nothing.
    if (!life.isAlive) return { outcome: told.promise, stop: () => {} };
    this.#deps.begun(attempt, isStray);
    if (!isStray) this.#refuseDouble(attempt, name);
    const { clock, fateOf } = this.#deps;
    const fate = fateOf(`${attempt.run}/${attempt.task}`, numberOf(attempt));
    const process: Process = {
      attempt,
      fate,
      startedAt: clock.now(),
      startedBy: life,
      pid: ++this.#pids,
      watchers: [{ life, watch, tell: told.resolve }],
      end: undefined,
      isStarted: false,
      outcome: undefined,
      stopping: undefined,
      isToldAgain: false,
      isForgotten: false,
      isStray,
    };
    this.#processes.set(name, process);
    this.#begin(process);
    return { outcome: told.promise, stop: (reason, grace) => this.#stop(process, reason, grace, life) };
  }

  #refuseDouble({ run, task }: Attempt, name: string): void {
    const prefix = `${run}/${task}/`;
    for (const [other, { outcome, isStray }] of this.#processes) {
      if (outcome !== undefined || isStray || !other.startsWith(prefix)) continue;
      this.#deps.violate(`${name} is started while ${other} still runs`);
    }
  }

  #begin(process: Process): void {
    const { clock } = this.#deps;
    const { fate } = process;
    if (fate.outcome.kind !== "spawn") {
      clock.at(later(clock.now(), fate.toStart), () => {
        if (process.outcome !== undefined) return;
        process.isStarted = true;
        for (const watcher of process.watchers) tellStarted(process, watcher);
      });
    }
    if (fate.hangs) return;
    process.end = clock.at(later(clock.now(), millis(fate.toStart + fate.lasts)), () =>
      this.#finish(process, { ...fate.outcome, durationMs: fate.lasts }),
    );
  }

  #finish(process: Process, outcome: Outcome): void {
    if (process.outcome !== undefined) return;
    process.end?.cancel();
    process.outcome = outcome;
    this.#deps.trace(`${nameOf(process.attempt)} ended: ${outcome.kind}`);
    const isWell = outcome.kind === "success" && process.stopping === undefined && !process.isStray;
    if (isWell) this.#deps.succeeded(process.attempt);
    for (const { life, tell } of process.watchers) {
      life.enter(() => tell(outcome));
    }
  }

  #stop(process: Process, reason: StopReason, grace: Millis, by: Life): void {
    if (process.outcome !== undefined) return;
    // An attempt that another scheduler started began by another clock.
    if (by === process.startedBy) this.#refuseHaste(process, reason);
    const { clock } = this.#deps;
    const first = process.stopping ?? reason;
    process.stopping = first;
    const delay = process.fate.isStubborn ? grace : millis(Math.min(grace, process.fate.toStop));
    const durationMs = millis(clock.now() - process.startedAt);
    clock.at(later(clock.now(), delay), () => this.#finish(process, stoppedWith(first, durationMs)));
  }

  #refuseHaste({ attempt, startedAt }: Process, reason: StopReason): void {
    if (reason.kind !== "timeout" || reason.limit === "progress") return;
    const had = this.#deps.clock.now() - startedAt;
    const least = this.#deps.least(attempt, reason.limit);
    if (had < least)
      this.#deps.violate(`${nameOf(attempt)} is over its ${reason.limit} limit after ${had} ms of ${least}`);
  }

  async #adopt(attempt: Attempt, watch: Watch, life: Life): Promise<Handle | undefined> {
    const found = this.#processes.get(nameOf(attempt));
    if (found === undefined || found.isForgotten) return undefined;
    const told = Promise.withResolvers<Outcome>();
    const watcher: Watcher = { life, watch, tell: told.resolve };
    found.watchers = [...found.watchers.filter((each) => each.life.isAlive), watcher];
    if (found.isStarted) tellStarted(found, watcher);
    if (found.outcome !== undefined) {
      found.isToldAgain = true;
      told.resolve(found.outcome);
    }
    return { outcome: told.promise, stop: (reason, grace) => this.#stop(found, reason, grace, life) };
  }

  async #sweep(): Promise<number> {
    let swept = 0;
    for (const process of this.#processes.values()) {
      const isWatched = process.watchers.some(({ life }) => life.isAlive);
      // The outcome of an attempt that was adopted after its end is forgotten too, since its adopter was told.
      if (isWatched && !process.isToldAgain) continue;
      if (process.outcome === undefined) swept++;
      this.#finish(process, { kind: "shutdown", durationMs: millis(0) });
      process.isForgotten = true;
    }
    return swept;
  }
}

function tellStarted({ pid, startedAt }: Process, { life, watch }: Watcher): void {
  life.enter(() => watch.started({ pid, startTime: String(startedAt), bootId: "boot" }));
}

const nameOf = ({ run, task, ...attempt }: Attempt): string => `${run}/${task}/${numberOf(attempt)}`;

const numberOf = ({ fence, verification }: Pick<Attempt, "fence" | "verification">): string =>
  verification === undefined ? String(fence) : `${fence}/v${verification}`;
