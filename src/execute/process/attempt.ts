/** One attempt from its first process to its last: command, leftovers, masks, and then the outcome. */
import { constants } from "node:os";
import type { Usage } from "../../domain/amounts/usage.ts";
import type { Outcome, TimeoutLimit } from "../../domain/outcome.ts";
import type { ProcessIdentity, StopReason } from "../../domain/task.ts";
import { type Instant, instant, later, type Millis, millis } from "../../domain/time.ts";
import { type Clock, sleep, type Timer } from "../../effects/clock.ts";
import { isAlive } from "../../effects/host.ts";
import { unreachable } from "../../std/invariant.ts";
import type { Handle, Watch } from "../executor.ts";
import { markShutdown, readOutcome, type stoppedBy, takeBegun } from "./directory.ts";
import { ask, endProcesses, livingGroups, signal } from "./ending.ts";
import { explainDirectory, type StartFailure } from "./explain.ts";
import { capLog, logSize, maskLog } from "./log.ts";
import { outsideGroup } from "./marks.ts";
import type { ProcessOptions } from "./options.ts";
import type { Slot } from "./register.ts";
import type { Sampled, Sampler } from "./sampler.ts";
import type { Strays } from "./strays.ts";
import type { WrapperWatch } from "./wrapper.ts";

/** What an attempt asks of the executor it runs in. */
export interface Surroundings {
  readonly clock: Clock;
  readonly options: Pick<ProcessOptions, "grace" | "leftoverGrace" | "logMaxBytes">;
  readonly sampler: Sampler;
  readonly strays: Strays;
  ended(attempt: LiveAttempt): void;
}

/** What is known of an attempt before it runs. */
export interface AttemptFacts {
  readonly key: string;
  readonly directory: string;
  readonly cwd: string;
  readonly log: string;
  readonly memoryLimit: number | undefined;
  /** Values that must not stay in the log. */
  readonly secrets: readonly string[];
}

/** Why it is ended: it was asked for, its memory limit, or no scheduler came for it. */
type Cause = StopReason | { readonly kind: "memory" } | { readonly kind: "orphaned" };

/** An attempt that lived this long may have started daemons; a shorter one is looked after later, with others. */
const LASTING = millis(1_000);
/** Longer than a process takes to become another program: until then it shows no marks. */
export const SECOND_LOOK = millis(20);
/** How often the executor checks whether an attempt of another scheduler has ended. */
const LOOK_FIRST = millis(5);
const LOOK_MAX = millis(100);
/** A log that grew by so much of what it may have is looked at again soon. */
const FAST_SHARE = 8;
const NEVER = instant(Number.MAX_SAFE_INTEGER);

export class LiveAttempt implements Handle, Sampled, WrapperWatch {
  readonly facts: AttemptFacts;
  readonly outcome: Promise<Outcome>;

  /** The group of its process, which is also the process's number. None before it runs. */
  group = 0;
  launchedAt = 0;
  looks = 0;
  nextLookAt = 0;
  peakBytes: number | undefined;

  readonly #watch: Watch;
  readonly #around: Surroundings;
  readonly #settle: (outcome: Outcome) => void;
  #startedAt: Instant;
  #endedAt: Instant | undefined;
  #running = false;
  #process: ProcessIdentity | undefined;
  #cause: Cause | undefined;
  #killAt = NEVER;
  #killTimer: Timer | undefined;
  /** Processes that left its group were not looked for. */
  #isUnswept = false;
  #cpuMs: number | undefined;
  #logBytes = 0;
  #logMissing = 0;

  constructor(facts: AttemptFacts, watch: Watch, around: Surroundings) {
    this.facts = facts;
    this.#watch = watch;
    this.#around = around;
    this.#startedAt = around.clock.now();
    const { promise, resolve } = Promise.withResolvers<Outcome>();
    this.outcome = promise;
    this.#settle = resolve;
  }

  get key(): string {
    return this.facts.key;
  }

  get memoryLimit(): number | undefined {
    return this.facts.memoryLimit;
  }

  /** It runs. */
  up(process: ProcessIdentity): void {
    this.#process = process;
    this.group = process.pid;
    this.launchedAt = this.#now();
    this.#running = true;
    this.#around.sampler.add(this);
    this.#watch.started(process);
    if (this.#cause !== undefined) this.#askAgain();
  }

  bad(step: string, words: string): void {
    const { directory, cwd } = this.facts;
    const message = step === "directory" ? explainDirectory(cwd) : undefined;
    this.failed(
      message === undefined
        ? { kind: "shortage", message: `cannot write in ${directory}: ${words}` }
        : { kind: "spawn", message },
    );
  }

  /** Nothing was started. */
  failed({ kind, message }: StartFailure): void {
    this.forsake();
    this.#endedAt = this.#now();
    this.#conclude({ kind, message, ...this.#spent() });
  }

  /** Nothing is started any more. */
  refuse(): void {
    this.#conclude({ kind: "shutdown", durationMs: millis(0) });
  }

  /** It is another scheduler's to look after. */
  forsake(): void {
    this.#running = false;
    this.#killTimer?.cancel();
    this.#around.sampler.remove(this);
  }

  down(status: number, cpuMs: number | undefined): void {
    this.#cpuMs = cpuMs;
    this.#endedAt ??= this.#now();
    this.forsake();
    const outcome = (): Outcome => this.#judge(status);
    const isLasting = this.#cause !== undefined || this.#endedAt - this.#startedAt >= LASTING;
    this.#isUnswept = !isLasting;
    if (isLasting || (this.group !== 0 && signal(-this.group, 0))) {
      void this.#clear(isLasting).then(() => this.#conclude(outcome()));
    } else this.#conclude(outcome());
  }

  /** The wrapper is gone. What it wrote down counts, and what it did not begin will not be begun. */
  died(words: string): void {
    const written = readOutcome(this.facts.directory);
    if (written !== undefined) this.down(written.status, undefined);
    else if (takeBegun(this.facts.directory).kind === "void") {
      this.failed({ kind: "shortage", message: `cannot start a process now: ${words}` });
    } else void this.lose("its wrapper died");
  }

  /** Ends what is left of an attempt that can no longer be watched. */
  async lose(why: string): Promise<void> {
    this.forsake();
    // A group lives on under its number when its leader has ended. But where that is long ago it may be the number of another.
    if (this.#process === undefined || !isAlive(this.#process)) this.group = 0;
    await this.#clear(true);
    await sleep(this.#around.clock, SECOND_LOOK);
    await this.#clear(true);
    this.#endedAt = this.#now();
    this.#conclude({ kind: "lost", message: this.#cause?.kind === "orphaned" ? ORPHANED : why, ...this.#spent() });
  }

  /** It was begun by another scheduler, at `atMs`, and may have ended. */
  follow(process: ProcessIdentity, atMs: number, slot: Slot | undefined, by: ReturnType<typeof stoppedBy>): void {
    this.#startedAt = instant(Math.min(atMs, this.#startedAt));
    // What was done before the shutdown could end it is done.
    const isDone = by === "shutdown" && readOutcome(this.facts.directory)?.status === 0;
    if (by !== undefined && !isDone) this.#cause = { kind: by };
    if (this.#takeWritten(process, slot)) return;
    this.up(process);
    this.#lookAfter(LOOK_FIRST, process, slot);
  }

  /** The first cause stands, unless it outlived its soft limit until the hard one; the grace can only get shorter. */
  stop(cause: Cause, grace: Millis): void {
    const { clock } = this.#around;
    const isFirst = this.#cause === undefined;
    if (isFirst || (this.#endedAt === undefined && isLimit(this.#cause, "soft") && isLimit(cause, "hard"))) {
      this.#cause = cause;
    }
    if (isFirst && cause.kind === "shutdown") markShutdown(this.facts.directory);
    const killAt = later(clock.now(), grace);
    if (killAt < this.#killAt) {
      this.#killAt = killAt;
      this.#killTimer?.cancel();
      if (grace > 0) this.#killTimer = clock.at(killAt, () => this.#kill());
      else this.#kill();
    }
    if (isFirst && grace > 0) void this.#askAll();
  }

  overLimit(): void {
    this.stop({ kind: "memory" }, millis(0));
  }

  checkLog(): boolean {
    const { log } = this.facts;
    const { logMaxBytes } = this.#around.options;
    const size = logSize(log) ?? 0;
    if (size > this.#logBytes) this.#watch.progressed();
    const isFast = size - this.#logBytes > logMaxBytes / FAST_SHARE;
    this.#logBytes = size;
    if (size <= logMaxBytes) return isFast;
    this.#logMissing = capLog(log, logMaxBytes, this.#logMissing);
    this.#logBytes = logSize(log) ?? 0;
    return true;
  }

  /** Whether it has ended meanwhile, which its wrapper has written down. */
  #takeWritten(process: ProcessIdentity, slot: Slot | undefined): boolean {
    const written = readOutcome(this.facts.directory);
    if (written === undefined) return false;
    if (this.#process === undefined) this.#watch.started(process);
    this.#endedAt = instant(Math.max(written.atMs, this.#startedAt));
    // Long ago, perhaps: what is left is known by its marks alone.
    if (!this.#running) this.group = 0;
    const [before, after] = [slot?.cpuMs, written.cpuMs];
    this.down(written.status, before === undefined || after === undefined ? undefined : after - before);
    return true;
  }

  #lookAfter(delay: Millis, process: ProcessIdentity, slot: Slot | undefined): void {
    const { clock } = this.#around;
    clock.at(later(clock.now(), delay), () => {
      if (!this.#running) return;
      const isWatched = slot !== undefined && isAlive(slot.wrapper);
      if (this.#takeWritten(process, slot)) return;
      if (isWatched) this.#lookAfter(millis(Math.min(delay * 2, LOOK_MAX)), process, slot);
      else void this.lose("its wrapper was gone");
    });
  }

  /** It was asked to end before it was there to hear it, or by an earlier scheduler. */
  #askAgain(): void {
    const { clock, options } = this.#around;
    if (this.#killAt === NEVER) this.#killAt = later(clock.now(), options.grace);
    this.#killTimer?.cancel();
    if (this.#killAt <= clock.now()) return this.#kill();
    this.#killTimer = clock.at(this.#killAt, () => this.#kill());
    void this.#askAll();
  }

  /** Ends what the leader left behind. */
  #clear(strays: boolean): Promise<void> {
    const { clock, options } = this.#around;
    const killAt = later(clock.now(), options.leftoverGrace);
    return endProcesses({
      find: async () => ({
        groups: this.group === 0 ? [] : livingGroups([this.group]),
        pids: strays ? await this.#strays() : [],
      }),
      killAt: () => (this.#cause === undefined || this.#killAt === NEVER ? killAt : this.#killAt),
      now: () => clock.now(),
      pause: (ms) => sleep(clock, millis(ms)),
      asked: this.#cause === undefined || this.group === 0 ? [] : [this.group],
    });
  }

  async #strays(): Promise<readonly number[]> {
    const seen = await this.#around.strays.look();
    return outsideGroup(seen.get(this.key) ?? [], this.group);
  }

  #judge(status: number): Outcome {
    const spent = this.#spent();
    if (this.#cause !== undefined) return judgeCause(this.#cause, spent);
    if (status === 0) return { kind: "success", ...spent };
    const maybe = SIGNALS.get(status - SIGNALLED);
    return { kind: "exit", code: status, ...(maybe !== undefined && { maybeSignal: maybe }), ...spent };
  }

  #spent(): { durationMs: Millis; usage?: Usage } {
    const durationMs = millis(Math.round((this.#endedAt ?? this.#now()) - this.#startedAt));
    if (this.#cpuMs === undefined && this.peakBytes === undefined) return { durationMs };
    const usage: Usage = {
      ...(this.#cpuMs !== undefined && { cpuMs: { amount: this.#cpuMs, source: "measured" } }),
      ...(this.peakBytes !== undefined && { peakBytes: { amount: this.peakBytes, source: "sampled" } }),
    };
    return { durationMs, usage };
  }

  #conclude(outcome: Outcome): void {
    const { log, secrets } = this.facts;
    // It may have written much since it was looked at last.
    const { logMaxBytes } = this.#around.options;
    if ((logSize(log) ?? 0) > logMaxBytes) capLog(log, logMaxBytes, this.#logMissing);
    const end = (): void => {
      if (this.#isUnswept) this.#around.strays.later(this.key);
      this.#around.ended(this);
      this.#settle(outcome);
    };
    if (secrets.length > 0) void maskLog(log, secrets).then(end);
    else end();
  }

  async #askAll(): Promise<void> {
    if (!this.#running) return;
    // In its first moment it has no group of its own yet.
    if (!signal(-this.group, "SIGTERM")) signal(this.group, "SIGTERM");
    signal(-this.group, "SIGCONT");
    for (const pid of await this.#strays()) ask(pid);
  }

  #kill(): void {
    if (this.#running && !signal(-this.group, "SIGKILL")) signal(this.group, "SIGKILL");
  }

  #now(): Instant {
    return this.#around.clock.now();
  }
}

const ORPHANED = "stopped because its scheduler was gone";

/** A shell adds this to the number of a signal that ended a process. A process may end with such a code by itself, too. */
const SIGNALLED = 128;
const SIGNALS = new Map(Object.entries(constants.signals).map(([name, no]) => [no, name]));

const isLimit = (cause: Cause | undefined, limit: TimeoutLimit): boolean =>
  cause?.kind === "timeout" && cause.limit === limit;

function judgeCause(cause: Cause, spent: { durationMs: Millis; usage?: Usage }): Outcome {
  switch (cause.kind) {
    case "timeout":
      return { kind: "timeout", limit: cause.limit, ...spent };
    case "cancelled":
    case "shutdown":
      return { kind: cause.kind, ...spent };
    case "memory":
      return { kind: "signal", signal: "SIGKILL", limit: "memory", ...spent };
    case "orphaned":
      return { kind: "lost", message: ORPHANED, ...spent };
    default:
      return unreachable(cause);
  }
}
