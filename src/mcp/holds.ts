/**
 * What an agent holds over one connection: the leases with their tokens, so that it need not carry them along, and their renewal, so
 * that it may think for as long as it likes.
 *
 * A lease is renewed for as long as the connection lives and the agent is heard of now and then. When the connection ends, nothing is
 * released: a pipe that broke does not say that the work has stopped, and a session that were given the task at once would meet the old
 * agent's hands in the same files. The lease runs out instead, and the scheduler goes by that.
 */
import { UserError, type UserErrorCode } from "../domain/errors.ts";
import { type Instant, instant, later, type Millis, millis, seconds } from "../domain/time.ts";
import type { Clock, Timer } from "../effects/clock.ts";
import { neutralize } from "../views/text/text.ts";
import type { LeaseReply } from "../wire/answers.ts";
import type { LeaseRequest } from "../wire/messages.ts";

export interface HoldsOptions {
  readonly clock: Clock;
  readonly renew: (lease: LeaseRequest) => Promise<LeaseReply>;
  /** How long an agent may say nothing at all before its leases are no longer renewed for it. */
  readonly silence: Millis | (() => Millis);
}

/** A lease of this connection, which is renewed until it ends. */
interface HeldLease {
  readonly lease: LeaseRequest;
  readonly ttl: Millis;
  deadline: string;
  stop?: NonNullable<LeaseReply["stop"]>;
  timer?: Timer;
  /** Which word of the daemon about a lease was the last about this one. */
  word: number;
  renewal?: Promise<void>;
  /** The agent was silent for too long when the renewal was due. */
  resting?: true;
}

/** Of one lease, renewals that are made: the first and the second may be lost on the way. */
const RENEWALS = 3;
/** How soon a renewal that did not get through is tried again, at the soonest. */
const RETRY_MIN = millis(1_000);
/** Codes with which a daemon says that a lease is no longer one's own. Anything else may pass by itself. */
const OVER: ReadonlySet<UserErrorCode> = new Set<UserErrorCode>(["LEASE_LOST", "RUN_UNKNOWN", "TASK_UNKNOWN"]);

export const isOver = (error: unknown): boolean => error instanceof UserError && OVER.has(error.code);

/** Which lease is meant: everything that is left out must follow from what is held. */
export type AskedLease = { readonly [K in keyof LeaseRequest]?: LeaseRequest[K] };

const fits = (lease: LeaseRequest, { run, task, fence }: AskedLease): boolean =>
  (run === undefined || lease.run === run) &&
  (task === undefined || lease.task === task) &&
  (fence === undefined || lease.fence === fence);

/** How long the answer of a call waits, at the most, for notices that could go with it. */
const ASKING_MAX = seconds(2);

export class Holds {
  readonly #options: HoldsOptions;
  readonly #held = new Map<string, HeldLease>();
  #lost: string[] = [];
  #settled: LeaseRequest | undefined;
  #heardAt: Instant;
  /** Words of the daemon about leases so far. */
  #words = 0;
  #closed = false;

  constructor(options: HoldsOptions) {
    this.#options = options;
    this.#heardAt = options.clock.now();
  }

  get size(): number {
    return this.#held.size;
  }

  /** The leases that are held, without their tokens. */
  list(): readonly (Omit<LeaseRequest, "token"> & { readonly lease_until: string; readonly stop?: string })[] {
    return [...this.#held.values()].map(({ lease: { run, task, fence }, deadline, stop }) => ({
      run,
      task,
      fence,
      lease_until: deadline,
      ...(stop !== undefined && { stop: stop.kind }),
    }));
  }

  has(lease: Pick<LeaseRequest, "run" | "task" | "fence">): boolean {
    return this.#held.get(keyOf(lease))?.lease.fence === lease.fence;
  }

  /**
   * Notes what a report that did not end the lease was answered. A lease that was not known is held and renewed from now on; a later
   * claim of the same task takes the place of an earlier one.
   */
  note(lease: LeaseRequest, reply: LeaseReply, ttl: Millis = this.#remaining(reply.deadline)): void {
    if (this.#closed) return;
    if (!this.has(lease)) {
      this.#forget(keyOf(lease));
      this.#held.set(keyOf(lease), { lease, ttl, deadline: reply.deadline, word: 0 });
    }
    this.#learn(this.#held.get(keyOf(lease)) as HeldLease, reply);
  }

  /** It is held no longer. */
  drop(lease: Pick<LeaseRequest, "run" | "task" | "fence">): void {
    if (this.has(lease)) this.#forget(keyOf(lease));
  }

  /** A report has ended the lease. The same report may come again, because its answer was lost on the way. */
  settled(lease: LeaseRequest): void {
    this.drop(lease);
    this.#settled = lease;
  }

  /** The lease that a report is to end. Where none is held, the lease of the last such report: the daemon says that it is over. */
  findToEnd(asked: AskedLease): LeaseRequest {
    const last = this.#settled;
    const isAgain = last !== undefined && this.#fitting(asked).length === 0 && fits(last, asked);
    return isAgain ? last : this.find(asked);
  }

  /** The lease that is meant. Throws a `UserError` when that is not clear. */
  find(asked: AskedLease): LeaseRequest {
    const { run, task, fence, token } = asked;
    if (run !== undefined && task !== undefined && fence !== undefined && token !== undefined)
      return { run, task, fence, token };
    const fitting = this.#fitting(asked);
    const [only, ...others] = fitting;
    if (only === undefined) throw noneHeld(task);
    if (others.length > 0) throw severalHeld(fitting);
    return token === undefined ? only : { ...only, token };
  }

  #fitting = (asked: AskedLease): readonly LeaseRequest[] =>
    [...this.#held.values()].map(({ lease }) => lease).filter((lease) => fits(lease, asked));

  /** To be given to `askAbout`. */
  get words(): number {
    return this.#words;
  }

  /**
   * Asks about every lease of which the daemon has said nothing since `words`: whether a task is to be stopped should be known with
   * the next call, not with the next renewal. What cannot be asked now is asked then.
   */
  async askAbout(words: number): Promise<void> {
    const unheard = [...this.#held.values()].filter(({ word }) => word <= words);
    if (unheard.length === 0) return;
    const { clock } = this.#options;
    const enough = Promise.withResolvers<void>();
    const timer = clock.at(later(clock.now(), ASKING_MAX), enough.resolve);
    await Promise.race([Promise.all(unheard.map((hold) => this.#renew(hold))), enough.promise]);
    timer.cancel();
  }

  /** What the agent must hear, at the next opportunity: leases to be ended, again and again; leases that are gone, once. */
  notices(): readonly string[] {
    const lost = this.#lost;
    this.#lost = [];
    return [...[...this.#held.values()].flatMap(stopNotice), ...lost];
  }

  /** The agent has been heard of: renewals that rested for its silence go on. */
  heard(): void {
    this.#heardAt = this.#options.clock.now();
    for (const hold of this.#held.values()) {
      if (hold.resting === undefined) continue;
      delete hold.resting;
      this.#schedule(hold, millis(0));
    }
  }

  /** Renews nothing any more. Closing twice is harmless. */
  close(): void {
    this.#closed = true;
    for (const key of [...this.#held.keys()]) this.#forget(key);
  }

  #forget(key: string): void {
    this.#held.get(key)?.timer?.cancel();
    this.#held.delete(key);
  }

  #schedule(hold: HeldLease, after: Millis): void {
    const { clock } = this.#options;
    hold.timer?.cancel();
    hold.timer = clock.at(later(clock.now(), after), () => {
      if (this.#isSilent()) hold.resting = true;
      else void this.#renew(hold);
    });
  }

  /** One at a time: a second one would say nothing new. */
  #renew(hold: HeldLease): Promise<void> {
    hold.renewal ??= this.#sendRenewal(hold).finally(() => delete hold.renewal);
    return hold.renewal;
  }

  async #sendRenewal(hold: HeldLease): Promise<void> {
    try {
      const reply = await this.#options.renew(hold.lease);
      if (this.#isCurrent(hold)) this.#learn(hold, reply);
    } catch (error) {
      if (!this.#isCurrent(hold)) return;
      if (isOver(error)) this.#lose(hold, error as UserError);
      else this.#schedule(hold, millis(Math.max(RETRY_MIN, hold.ttl / RENEWALS / 4)));
    }
  }

  /**
   * A lease that is to be stopped is not renewed any more by itself: what is left of it is the time to wind down in. Where that is until
   * a given moment, the lease is kept until then.
   */
  #learn(hold: HeldLease, { deadline, stop }: LeaseReply): void {
    hold.deadline = deadline;
    hold.word = ++this.#words;
    if (stop === undefined) delete hold.stop;
    else hold.stop = stop;
    if (stop === undefined || stop.by !== undefined) this.#schedule(hold, this.#period(hold));
    else hold.timer?.cancel();
  }

  #lose(hold: HeldLease, error: UserError): void {
    const { task, run, fence } = hold.lease;
    this.#forget(keyOf(hold.lease));
    this.#lost.push(
      `The lease on ${task} (run ${run}, fence ${fence}) is over: ${error.code}: ${error.message} Drop the work; a report on it would be refused.`,
    );
  }

  #isCurrent = (hold: HeldLease): boolean => this.#held.get(keyOf(hold.lease)) === hold;
  #isSilent = (): boolean => {
    const { clock, silence } = this.#options;
    return clock.now() - this.#heardAt >= (typeof silence === "function" ? silence() : silence);
  };
  #period = ({ ttl }: HeldLease): Millis => millis(Math.floor(ttl / RENEWALS));

  /** By this machine's clock, which need not be the daemon's: so it is kept within what a lease can be. */
  #remaining(deadline: string): Millis {
    const left = instant(Date.parse(deadline)) - this.#options.clock.now();
    return millis(Number.isFinite(left) ? Math.min(Math.max(left, 3_000), 86_400_000) : 60_000);
  }
}

/** An id holds no slash, so the two cannot run into each other. */
const keyOf = ({ run, task }: Pick<LeaseRequest, "run" | "task">): string => `${run}/${task}`;

function stopNotice({ lease: { task, run }, stop, deadline }: HeldLease): readonly string[] {
  return stop === undefined ? [] : [`Stop working on ${task} (run ${run}): ${stopText(stop, deadline)}`];
}

/** Why to stop, how, and by when. */
export function stopText({ kind, why, by }: NonNullable<LeaseReply["stop"]>, deadline: string): string {
  if (by !== undefined) return `its time is up. Report with \`complete\` or \`fail\` before ${by}: then it is ended.`;
  const said = why === undefined ? "" : `, "${neutralize(why)}"`;
  return `${kind}${said}. Wind down, then report with \`fail\` before ${deadline}.`;
}

const HOW = "Get one with `claim_next`, or give run, task, fence and token as they stood in the grant.";

const noneHeld = (task: string | undefined): UserError =>
  new UserError("USAGE", task === undefined ? "No task is held here." : `${task} is not held here.`, { hint: HOW });

const severalHeld = (leases: readonly LeaseRequest[]): UserError => {
  const names = leases.map(({ run, task }) => `${task} (run ${run})`).join(", ");
  return new UserError("USAGE", `Several tasks are held here: ${names}.`, { hint: "Say which one: give its `task`." });
};
