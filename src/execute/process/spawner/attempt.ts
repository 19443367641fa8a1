/** One attempt from its first process to its last: command, leftovers, verify, masks, and then the report. */
import type { Outcome, TimeoutLimit } from "../../../domain/outcome.ts";
import type { Command } from "../../../domain/spec.ts";
import type { ProcessIdentity, StopReason } from "../../../domain/task.ts";
import type { Millis } from "../../../domain/time.ts";
import type { Usage } from "../../../domain/usage.ts";
import { ticks } from "../../../effects/ticks.ts";
import { unreachable } from "../../../std/invariant.ts";
import { ask, endProcesses, livingGroups, signal } from "../ending.ts";
import { outsideGroup } from "../marks.ts";
import type { FromSpawner, SpawnerSettings, Start } from "../messages.ts";
import type { LaunchFailure } from "./explain.ts";
import type { Exit, Forker, Kept, Launched, LaunchOrder, LaunchWatch } from "./forker.ts";
import { capLog, logSize, maskLog } from "./log.ts";
import type { Sampled, Sampler } from "./sampler.ts";
import { pause, type Strays } from "./strays.ts";
import { after, type Timer } from "./timer.ts";

/** What an attempt asks of the spawner it runs in. */
export interface Surroundings {
  readonly settings: SpawnerSettings;
  readonly forker: Forker;
  readonly sampler: Sampler;
  readonly strays: Strays;
  report(message: FromSpawner): void;
  ended(attempt: LiveAttempt, outcome: Outcome): void;
}

/** Why we ended it: somebody asked, its memory limit, or nobody was left to run it for. */
type Cause = StopReason | { readonly kind: "memory" } | { readonly kind: "orphaned" };

/** An attempt that lived this long may have started daemons; a shorter one is looked after later, with others. */
const LASTING_MS = 1_000;

/** What a successor is told of an attempt that it goes on with. */
export interface Keepsake {
  readonly order: Start;
  readonly startedAtMs: number;
  /** The command has ended well, and this is the second look at it. */
  readonly verifying?: { readonly process?: ProcessIdentity; readonly cpuMs?: number };
}

export class LiveAttempt implements Sampled, LaunchWatch {
  readonly order: Start;
  /** The process of the task's own command. */
  process: ProcessIdentity | undefined;

  group = 0;
  launchedAt = 0;
  looks = 0;
  nextLookAt = 0;
  peakBytes: number | undefined;
  seenCpuMs = 0;

  readonly #around: Surroundings;
  readonly #env: Readonly<Record<string, string>>;
  #startedAt = ticks();
  #verifying = false;
  #prepared: Launched | undefined;
  #launched: Pick<Launched, "note"> | undefined;
  #running = false;
  #cause: Cause | undefined;
  #killAt = Number.POSITIVE_INFINITY;
  #killTimer: Timer | undefined;
  #endedAt = 0;
  /** Strays of it were not looked for. */
  #unswept = false;
  #cpuMs: number | undefined;
  #logBytes = 0;
  #logMissing = 0;

  constructor(order: Start, env: Readonly<Record<string, string>>, around: Surroundings) {
    this.order = order;
    this.#env = env;
    this.#around = around;
  }

  get key(): string {
    return this.order.key;
  }

  get memoryLimit(): number | undefined {
    return this.order.memoryLimit;
  }

  /** May be followed by `begin`, which then has less to do. */
  prepare(ahead: boolean): void {
    this.#prepared = this.#around.forker.prepare(this.#launchOrder(this.order.command), this, ahead);
    this.#launched = this.#prepared;
  }

  /** It does not begin: nothing of what was prepared is left. */
  forgo(): void {
    this.#prepared?.drop();
  }

  begin(): void {
    this.#startedAt = ticks();
    if (this.#prepared) this.#prepared.go();
    else this.#launch();
  }

  /** Goes on with what a predecessor began. */
  inherit(kept: Kept, { startedAtMs, verifying }: Keepsake): void {
    // What was written down beforehand may be older: it was got ready, and went later.
    this.#startedAt = onOwnScale(verifying === undefined ? kept.sinceMs : startedAtMs);
    this.#verifying = verifying !== undefined;
    this.process = verifying === undefined ? kept.process : verifying.process;
    this.#cpuMs = verifying?.cpuMs;
    this.#launched = kept;
    if (kept.noted !== "") this.#cause = JSON.parse(kept.noted) as Cause;
    if (kept.exit !== undefined) return this.#exitedBefore(kept.exit);
    kept.follow(this);
    this.#run(kept.pid, onOwnScale(kept.sinceMs));
    if (this.#cause !== undefined) this.#stopAgain();
  }

  started(pid: number, process: ProcessIdentity | undefined): void {
    this.#run(pid, ticks());
    if (!this.#verifying) {
      this.process = process;
      this.#around.report({ kind: "started", key: this.key, ...(process && { process }) });
    }
    if (this.#cause !== undefined) this.#stopAgain();
  }

  failed({ kind, message }: LaunchFailure): void {
    this.forsake();
    this.#endedAt = ticks();
    void this.#conclude({ kind, message: this.#verifying ? `verify: ${message}` : message, ...this.#spent() });
  }

  exited(exit: Exit): void {
    if (!this.#running) return;
    this.#running = false;
    this.#endedAt = ticks();
    this.#around.sampler.remove(this);
    this.#count(exit);
    // Counted from when it was asked for: that it runs may be heard of much later, even with its end.
    const lasting = this.#cause !== undefined || this.#endedAt - this.#startedAt >= LASTING_MS;
    this.#unswept ||= !lasting;
    const isLeft = exit.isGroupEmpty !== true && signal(-this.group, 0);
    if (lasting || isLeft) void this.#clear(lasting).then(() => this.#goOn(exit));
    else this.#goOn(exit);
  }

  /** Whoever could tell its end is gone: others look after what is left of it. */
  forsake(): void {
    this.#running = false;
    this.#killTimer?.cancel();
    this.#around.sampler.remove(this);
  }

  /** The first cause stands, unless it outlived its soft limit until the hard one; the grace can only get shorter. */
  stop(cause: Cause, graceMs: number): void {
    const first = this.#cause === undefined;
    // Before its start was heard of it runs as well.
    const isAlive = this.#running || this.#endedAt === 0;
    if (first || (isAlive && isLimit(this.#cause, "soft") && isLimit(cause, "hard"))) {
      this.#cause = cause;
      this.#launched?.note(JSON.stringify(cause));
    }
    const killAt = ticks() + graceMs;
    if (killAt < this.#killAt) {
      this.#killAt = killAt;
      this.#killTimer?.cancel();
      if (graceMs > 0) this.#killTimer = after(graceMs, () => this.#kill());
      else this.#kill();
    }
    if (first && this.#running && graceMs > 0) void this.#askAll();
  }

  overLimit(): void {
    this.stop({ kind: "memory" }, 0);
  }

  checkLog(): void {
    const size = logSize(this.order.log) ?? 0;
    if (size > this.#logBytes) this.#around.report({ kind: "progressed", key: this.key });
    this.#logBytes = size;
    if (size <= this.#around.settings.logMaxBytes) return;
    this.#logMissing = capLog(this.order.log, this.#around.settings.logMaxBytes, this.#logMissing);
    this.#logBytes = logSize(this.order.log) ?? 0;
  }

  #launch(): void {
    const command = this.#verifying ? this.order.verify : this.order.command;
    if (command !== undefined) this.#launched = this.#around.forker.launch(this.#launchOrder(command), this);
  }

  #launchOrder(command: Command): LaunchOrder {
    const { cwd, log, nice } = this.order;
    return { command, cwd, log, nice, env: this.#env, keepsake: () => JSON.stringify(this.#keepsake()) };
  }

  #keepsake(): Keepsake {
    const startedAtMs = Date.now() - (ticks() - this.#startedAt);
    const { order, process } = this;
    if (!this.#verifying) return { order, startedAtMs };
    const past = { ...(process && { process }), ...(this.#cpuMs !== undefined && { cpuMs: this.#cpuMs }) };
    return { order, startedAtMs, verifying: past };
  }

  #run(pid: number, since: number): void {
    this.group = pid;
    this.launchedAt = since;
    this.#running = true;
    this.seenCpuMs = 0;
    this.#around.sampler.add(this);
  }

  /** It was asked to end before it was there to hear it, or by a predecessor. */
  #stopAgain(): void {
    if (this.#killAt === Number.POSITIVE_INFINITY) this.#killAt = ticks() + this.#around.settings.graceMs;
    this.#killTimer?.cancel();
    const graceMs = this.#killAt - ticks();
    if (graceMs <= 0) return this.#kill();
    this.#killTimer = after(graceMs, () => this.#kill());
    void this.#askAll();
  }

  /** It ended while nobody listened. Its group's number may be another's by now, so what is left is known by its marks alone. */
  #exitedBefore(exit: NonNullable<Kept["exit"]>): void {
    this.#endedAt = onOwnScale(exit.atMs);
    this.#count(exit);
    void this.#clear(true).then(() => this.#goOn(exit));
  }

  #count({ cpuMs, peakBytes }: Exit): void {
    if (cpuMs !== undefined) this.#cpuMs = (this.#cpuMs ?? 0) + cpuMs;
    if (peakBytes !== undefined) this.peakBytes = Math.max(this.peakBytes ?? 0, peakBytes);
  }

  /** Ends what the leader left behind. */
  #clear(strays: boolean): Promise<void> {
    const asked = this.#cause === undefined || this.group === 0 ? [] : [this.group];
    const killAt = ticks() + this.#around.settings.leftoverGraceMs;
    return endProcesses({
      find: async () => ({ groups: this.#groups(), pids: strays ? await this.#strays() : [] }),
      killAt: () => (this.#cause === undefined ? killAt : this.#killAt),
      now: () => ticks(),
      pause,
      asked,
    });
  }

  #groups(): readonly number[] {
    return this.group === 0 ? [] : livingGroups([this.group]);
  }

  async #strays(): Promise<readonly number[]> {
    const seen = await this.#around.strays.look();
    return outsideGroup(seen.get(this.key) ?? [], this.group);
  }

  #goOn(exit: Exit): void {
    const outcome = this.#judge(exit);
    if (outcome.kind === "success" && this.order.verify !== undefined && !this.#verifying) {
      this.#verifying = true;
      this.#launch();
    } else void this.#conclude(outcome);
  }

  #judge({ code, signal: name }: Exit): Outcome {
    const spent = this.#spent();
    if (this.#cause !== undefined) return judgeCause(this.#cause, spent);
    if (code === 0) return { kind: "success", ...spent };
    if (this.#verifying) return { kind: "verify", code, ...spent };
    if (code !== null) return { kind: "exit", code, ...spent };
    return { kind: "signal", signal: name ?? "unknown", ...spent };
  }

  #spent(): { durationMs: Millis; usage?: Usage } {
    const durationMs = Math.round(this.#endedAt - this.#startedAt) as Millis;
    if (this.#cpuMs === undefined && this.peakBytes === undefined) return { durationMs };
    const usage: Usage = {
      ...(this.#cpuMs !== undefined && { cpuMs: { amount: this.#cpuMs, source: "measured" } }),
      ...(this.peakBytes !== undefined && { peakBytes: { amount: this.peakBytes, source: "sampled" } }),
    };
    return { durationMs, usage };
  }

  async #conclude(outcome: Outcome): Promise<void> {
    this.#killTimer?.cancel();
    const secrets = this.order.secrets;
    if (secrets !== undefined && secrets.length > 0) await maskLog(this.order.log, secrets);
    // Only now: what verifies the attempt carries the same marks.
    if (this.#unswept) this.#around.strays.later(this.key);
    this.#around.ended(this, outcome);
  }

  async #askAll(): Promise<void> {
    ask(-this.group);
    for (const pid of await this.#strays()) ask(pid);
  }

  #kill(): void {
    if (this.#running) signal(-this.group, "SIGKILL");
  }
}

const isLimit = (cause: Cause | undefined, limit: TimeoutLimit): boolean =>
  cause?.kind === "timeout" && cause.limit === limit;

/** A moment of the machine's clock on the scale that durations are measured by. */
const onOwnScale = (atMs: number): number => ticks() - (Date.now() - atMs);

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
      return { kind: "lost", message: "stopped because its scheduler was gone", ...spent };
    default:
      return unreachable(cause);
  }
}
