/**
 * The scheduler of the pools whose sessions claim by themselves. It sweeps, wakes, and climbs the ladder; it cannot claim: neither its
 * port nor any of its imports has a way to.
 */
import { climb, LADDER, type LadderLimits, monotonic, STARVING_AGE } from "../../decide/rules/ladder.ts";
import { UserError } from "../../domain/errors.ts";
import type { OfferEnd } from "../../domain/event.ts";
import { SWEEP_LIMIT, SWEEP_REASON, WAKE_REASON } from "../../domain/sessions/cycle.ts";
import { between, earliest, formatDuration, later, type Millis, millis, seconds } from "../../domain/time.ts";
import type { Clock, Timer } from "../../effects/clock.ts";
import { InvariantError } from "../../std/invariant.ts";
import { Cooldowns } from "./cooldowns.ts";
import { Escalations } from "./escalations.ts";
import { newPlan, type Plan, resultOf } from "./wake-plan.ts";
import {
  type CycleResult,
  type CycleStats,
  type Escalation,
  nameOf,
  type Pending,
  type Rebuilt,
  type Waker,
  type WakeTarget,
  type WakeTurn,
} from "./wake-port.ts";
import { Tally } from "./wake-tally.ts";

export interface WakeSchedulerDeps {
  readonly clock: Clock;
  /** Runs `change` in a turn; resolves when it is durable. */
  readonly durably: <T>(change: (turn: WakeTurn) => T) => Promise<T>;
  readonly waker: Waker;
  /** Asks for a worker that covers what the task requires. False when none is possible. */
  readonly spawn: (pending: Pending) => Promise<boolean>;
  /** Whether waking is paused for a reason that the store does not know. An error here pauses nothing. */
  readonly isPaused?: (() => Promise<boolean>) | undefined;
  /** Hears of the steps of the ladder. */
  readonly escalate?: ((escalation: Escalation) => Promise<void>) | undefined;
  readonly options?: WakeOptions;
}

export interface WakeOptions {
  /** How often it looks without an event. */
  readonly interval?: Millis;
  /** For how long a session is not woken again for the same task. 0: not at all. */
  readonly cooldown?: Millis;
  /** How many expired leases are dealt with at once. 0: all. */
  readonly sweepLimit?: number;
  /** The reason in the ledger for leases that the sweep took back. */
  readonly sweepReason?: string;
  /** The reason that a woken session is given. */
  readonly wakeReason?: string;
  /** How long a task is kept for the session that was woken for it. */
  readonly offer?: Millis;
  readonly starvingAge?: Millis;
  readonly ladder?: Partial<LadderLimits>;
}

const INTERVAL = seconds(15);
const COOLDOWN = seconds(60);
const OFFER = seconds(30);
/** How many sessions are woken for one task that no session claims. */
const FAN_OUT_MAX = 8;
/** How many workers are asked for in one cycle. Further tasks ask in the next one. */
const SPAWNS_MAX = 8;

export class WakeScheduler {
  readonly #deps: WakeSchedulerDeps;
  readonly #interval: Millis;
  readonly #offer: Millis;
  readonly #sweepLimit: number;
  readonly #sweepReason: string;
  readonly #wakeReason: string;
  readonly #age: Millis;
  readonly #ladder: LadderLimits;
  readonly #cooldowns: Cooldowns;
  readonly #tally = new Tally();
  readonly #escalations: Escalations;
  #timer: Timer | undefined;
  /** Rings when the first open offer has come to nothing. */
  #offerTimer: Timer | undefined;
  #running: Promise<unknown> = Promise.resolve();
  #state: "new" | "started" | "stopped" = "new";
  #nudged = false;

  constructor(deps: WakeSchedulerDeps) {
    const { interval, cooldown, offer, sweepLimit, starvingAge, ladder } = deps.options ?? {};
    const { sweepReason = "", wakeReason = "" } = deps.options ?? {};
    this.#deps = deps;
    this.#escalations = new Escalations(deps.escalate);
    this.#interval = interval !== undefined && interval > 0 ? interval : INTERVAL;
    this.#cooldowns = new Cooldowns(cooldown !== undefined && cooldown >= 0 ? cooldown : COOLDOWN);
    this.#offer = offer !== undefined && offer > 0 ? offer : OFFER;
    this.#sweepLimit = sweepLimit !== undefined && sweepLimit >= 0 ? sweepLimit : SWEEP_LIMIT;
    this.#sweepReason = sweepReason.trim() === "" ? SWEEP_REASON : sweepReason;
    this.#wakeReason = wakeReason.trim() === "" ? WAKE_REASON : wakeReason;
    this.#age = starvingAge ?? STARVING_AGE;
    this.#ladder = monotonic({ ...LADDER, ...ladder });
  }

  /** One whole cycle: sweep, wake, and climb. Two never run at once, and none after the end. */
  async runOnce(): Promise<CycleResult> {
    this.#refuseStopped();
    return this.#inTurn(() => this.#cycle(true));
  }

  /** A task has become ready, or a session idle: wakes the sessions concerned. Without the ladder: that goes by time. */
  nudge(): void {
    if (this.#nudged || this.#state !== "started") return;
    this.#nudged = true;
    void this.#inTurn(() => {
      this.#nudged = false;
      return this.#cycle(false);
    }).catch(() => {});
  }

  /** Forgets what is only in memory. What must survive is in the store, and the sweep finds it. */
  async rebuild(): Promise<Rebuilt> {
    const rebuilt = await this.#deps.durably((turn) => ({
      pending: turn.pendingCount(),
      active: turn.active(),
      sessions: turn.sessions(),
      at: turn.now,
    }));
    const clearedWakes = this.#cooldowns.clear();
    this.#tally.rebuilt(rebuilt.at);
    return { ...rebuilt, clearedWakes };
  }

  stats(): CycleStats {
    return this.#tally.now;
  }

  /** Harmless when the cycle has begun already; refused once it has ended. The first cycle comes after one interval. */
  start(): void {
    this.#refuseStopped();
    if (this.#state === "started") return;
    this.#state = "started";
    this.#arm();
  }

  /** Waits for the running cycle, no longer than `within`; may be called again then. Works without a start. */
  async shutdown(within?: Millis): Promise<void> {
    this.#state = "stopped";
    this.#timer?.cancel();
    this.#offerTimer?.cancel();
    const ended = this.#running.then(
      () => true,
      () => true,
    );
    if (within === undefined) return void (await ended);
    const { clock } = this.#deps;
    const late = Promise.withResolvers<boolean>();
    const timer = clock.at(later(clock.now(), within), () => late.resolve(false));
    const inTime = await Promise.race([ended, late.promise]);
    timer.cancel();
    if (!inTime) throw new UserError("DAEMON_STOPPING", `A cycle still runs after ${formatDuration(within)}`);
  }

  #refuseStopped(): void {
    if (this.#state === "stopped") throw new UserError("DAEMON_STOPPING", "The wake scheduler has been shut down");
  }

  #arm(): void {
    const { clock } = this.#deps;
    this.#timer = clock.at(later(clock.now(), this.#interval), () => {
      void this.runOnce()
        .catch(() => {})
        .finally(() => {
          if (this.#state === "started") this.#arm();
        });
    });
  }

  #inTurn<T>(run: () => Promise<T>): Promise<T> {
    const next = this.#running.then(run, run);
    this.#running = next.catch((error: unknown) => {
      this.#tally.failed(error);
    });
    return next;
  }

  async #cycle(withLadder: boolean): Promise<CycleResult> {
    const errors: string[] = [];
    const isPaused = this.#deps.isPaused !== undefined && (await this.#asked(this.#deps.isPaused, errors));
    const plan = await this.#deps.durably((turn) => this.#decide(turn, withLadder, isPaused));
    plan.otherErrors.push(...errors);
    const failures = await this.#wake(plan);
    const spawned = await this.#spawn(plan);
    if (withLadder) await this.#escalations.tell(plan.otherErrors);
    const result = resultOf(plan, failures, spawned);
    this.#tally.add(result, withLadder);
    return result;
  }

  async #asked(isPaused: () => Promise<boolean>, errors: string[]): Promise<boolean> {
    try {
      return await isPaused();
    } catch (error) {
      errors.push(`pause: ${asError(error).message}`);
      return false;
    }
  }

  #decide(turn: WakeTurn, withLadder: boolean, isPaused: boolean): Plan {
    const errors: string[] = [];
    const plan = newPlan(turn, { paused: turn.paused || isPaused, recovered: this.#sweep(turn, errors) }, errors);
    this.#endOffers(turn);
    if (plan.paused) return plan;
    this.#select(turn, plan);
    if (withLadder) this.#climb(turn, plan);
    this.#watchOffers(turn);
    return plan;
  }

  /** An error with some leases must not keep the cycle from the others. A broken invariant is another matter. */
  #sweep(turn: WakeTurn, errors: string[]): readonly string[] {
    try {
      return turn.sweep(this.#sweepLimit, this.#sweepReason);
    } catch (error) {
      if (error instanceof InvariantError) throw error;
      errors.push(`sweep: ${asError(error).message}`);
      return [];
    }
  }

  /** Offers whose time is over came to nothing. Offers of paused tasks are taken back, and so are offers from a clock that has been set back since. */
  #endOffers(turn: WakeTurn): void {
    for (const each of turn.offered()) {
      const { offer } = each.task;
      if (offer === undefined) continue;
      const why = this.#offerEnd(turn.isPaused(each), between(turn.now, offer.until));
      if (why === undefined) continue;
      turn.write(each, { kind: "offer_ended", session: offer.session, why });
    }
  }

  #offerEnd(isPaused: boolean, left: Millis): OfferEnd | undefined {
    if (isPaused) return "paused";
    if (left < 0) return "ignored";
    return left > this.#offer ? "opened" : undefined;
  }

  /** Looks again as soon as the first of the open offers has come to nothing. */
  #watchOffers(turn: WakeTurn): void {
    this.#offerTimer?.cancel();
    const first = earliest(...turn.offered().map(({ task }) => task.offer?.until));
    this.#offerTimer = first && this.#deps.clock.at(later(first, millis(1)), () => this.nudge());
  }

  /** One wake for each session, and only one session for each task. */
  #select(turn: WakeTurn, plan: Plan): void {
    this.#cooldowns.forgetOld(turn.now);
    for (const session of turn.wakeable()) {
      const { id } = session.profile;
      const chosen = turn.choose(session, (task) => !this.#cooldowns.has(task, id, turn.now));
      if (chosen === undefined) continue;
      const until = later(turn.now, this.#offer);
      turn.write(chosen, { kind: "offered", session: id, until });
      const { run, task } = chosen;
      plan.targets.push({ session: id, run, task, until, reason: "offered", why: this.#wakeReason });
    }
  }

  #climb(turn: WakeTurn, plan: Plan): void {
    for (const each of turn.pending()) {
      const { task } = each;
      // The status is read again: this cycle may have changed it.
      if (task.status.state !== "ready") continue;
      if (turn.isPaused(each) || task.status.notBefore > turn.now) {
        plan.unclaimable++;
        continue;
      }
      const fit = task.offer === undefined ? turn.fit(each) : "idle";
      if (fit === "none") plan.noMatch.push(nameOf(each));
      if (fit === "busy") plan.capacity++;
      const isCooling = task.offer === undefined && fit === "idle";
      if (isCooling) plan.recentlyNotified++;
      if (between(each.since, turn.now) < this.#age) continue;
      if (isCooling) plan.cooling++;
      const isIgnored = (task.ignored ?? 0) > (task.starving?.ignored ?? 0);
      if (fit === "none" || isIgnored || isCooling) this.#step(turn, plan, each);
    }
  }

  #step(turn: WakeTurn, plan: Plan, pending: Pending): void {
    const { task } = pending;
    const steps = climb(task.starving, this.#ladder);
    turn.write(pending, { kind: "starving", count: steps.count });
    const waitedMs = between(pending.since, turn.now);
    if (steps.fanOut) this.#fanOut(turn, plan, pending);
    if (steps.spawn && plan.spawns.length < SPAWNS_MAX) plan.spawns.push(pending);
    if (steps.tell) {
      turn.write(pending, { kind: "starved", count: steps.count, waitedMs });
      plan.starved.push(nameOf(pending));
      this.#escalations.add({ kind: "starved", pending, waitedMs });
    }
    if (!steps.park) return;
    const message = `No session came for it in ${formatDuration(waitedMs)}, after ${steps.count} cycles`;
    turn.write(pending, { kind: "parked", reason: "starved", message });
    plan.parked.push(nameOf(pending));
    this.#escalations.add({ kind: "parked", pending, message });
  }

  /** Wakes more sessions for the task, and keeps it for none of them: the first that claims it has it. */
  #fanOut(turn: WakeTurn, plan: Plan, pending: Pending): void {
    const { run, task } = pending;
    const woken = new Set(plan.targets.map(({ session }) => session));
    const until = later(turn.now, this.#offer);
    const others = turn
      .suited(pending)
      .filter(({ profile: { id } }) => !woken.has(id) && !this.#cooldowns.has(task, id, turn.now))
      .slice(0, FAN_OUT_MAX);
    if (others.length === 0) return;
    const { offer } = task;
    if (offer !== undefined) turn.write(pending, { kind: "offer_ended", session: offer.session, why: "opened" });
    for (const { profile } of others) {
      plan.targets.push({ session: profile.id, run, task, until, reason: "fan-out", why: this.#wakeReason });
    }
  }

  /** One call for all. A session that could not be reached is not waited for. */
  async #wake(plan: Plan): Promise<number> {
    // Between the choice and now a session may have claimed the task.
    const targets = plan.targets.filter(({ task }) => task.status.state === "ready");
    plan.targets.splice(0, plan.targets.length, ...targets);
    if (targets.length === 0) return 0;
    const errors = await this.#deps.waker.wake(targets).catch((error: unknown) => targets.map(() => asError(error)));
    if (errors.length !== targets.length) plan.wakeErrors.push("the waker did not answer for every target");
    const failed: WakeTarget[] = [];
    for (const [at, target] of targets.entries()) {
      const error = errors.length === targets.length ? errors[at] : new Error("no answer");
      if (error === undefined) this.#cooldowns.stamp(target.task, target.session, plan.now);
      else {
        plan.wakeErrors.push(`${target.session}: ${error.message}`);
        failed.push(target);
      }
    }
    plan.targets.splice(0, plan.targets.length, ...targets.filter((each) => !failed.includes(each)));
    if (failed.length > 0) await this.#withdraw(failed);
    return failed.length;
  }

  #withdraw(failed: readonly WakeTarget[]): Promise<void> {
    return this.#deps.durably((turn) => {
      for (const { run, task, session } of failed) {
        if (task.status.state !== "ready" || task.offer?.session !== session) continue;
        turn.write({ run, task }, { kind: "offer_ended", session, why: "unreachable" });
      }
    });
  }

  async #spawn(plan: Plan): Promise<readonly string[]> {
    const spawned: string[] = [];
    for (const pending of plan.spawns) {
      const { run, task, pool } = pending;
      // Waking took its time: a session may have claimed the task, or a person may have paused it.
      const isWanted = (turn: WakeTurn): boolean =>
        task.status.state === "ready" && task.starving !== undefined && !turn.isPaused(pending);
      if (!(await this.#deps.durably(isWanted))) continue;
      const possible = await this.#deps.spawn(pending).catch((error: unknown) => {
        plan.otherErrors.push(`${nameOf(pending)}: ${asError(error).message}`);
        return false;
      });
      if (!possible) continue;
      await this.#deps.durably((turn) => {
        if (task.status.state === "ready") turn.write({ run, task }, { kind: "spawn_asked", pool });
      });
      spawned.push(nameOf(pending));
    }
    return spawned;
  }
}

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));
