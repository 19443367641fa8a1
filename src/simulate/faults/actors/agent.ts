/** A session as agents have them: it joins, claims work, gives signs of life, reports, and repeats a call that gets no answer. */
import { UserError } from "../../../domain/errors.ts";
import type { DispatchMode } from "../../../domain/sessions/pool.ts";
import { later, type Millis, millis, seconds } from "../../../domain/time.ts";
import type { LeaseReport } from "../../../engine/sessions/session-reports.ts";
import type { VirtualClock } from "../../clock.ts";
import type { Chance } from "../seed/chance.ts";
import type { SessionDraft } from "../seed/scenario.ts";
import type { Front } from "../world/front.ts";
import type { SimulatedGrant } from "../world/grant.ts";
import { Life, OwnClock } from "../world/life.ts";
import { type Network, Unreachable } from "../world/network.ts";
import type { SimulatedScheduler } from "../world/scheduler.ts";
import { type FateOf, stoppedWith } from "./fate.ts";

export interface AgentDeps {
  readonly clock: VirtualClock;
  readonly chance: Chance;
  readonly rate: number;
  readonly network: Network<SimulatedScheduler>;
  readonly front: Front;
  readonly fateOf: FateOf;
  readonly mode: DispatchMode;
  /** Told of an answer that an honest session must not get. */
  readonly violate: (law: string) => void;
  /** How long it took from asking to a grant. */
  readonly latency: (span: number) => void;
  /** Gets every grant, for the forger and for late reports. */
  readonly remember: (grant: SimulatedGrant) => void;
}

/** Answers that an honest session may get at any time. */
const EXPECTED: ReadonlySet<string> = new Set([
  "LEASE_LOST",
  "SESSION_UNKNOWN",
  "SESSION_QUARANTINED",
  "SLOTS_TAKEN",
  "SELF_CLAIM_DISABLED",
  "RUN_UNKNOWN",
]);
const TRIES_MAX = 6;
const ANSWER_TIMEOUT = seconds(10);

export class Agent {
  readonly draft: SessionDraft;
  readonly life = new Life();
  readonly #deps: AgentDeps;
  readonly #clock: OwnClock;
  #claims = 0;
  #wake: (() => void) | undefined;

  constructor(draft: SessionDraft, deps: AgentDeps) {
    this.draft = draft;
    this.#deps = deps;
    this.#clock = new OwnClock(deps.clock, this.life, { rate: deps.rate });
  }

  get id(): string {
    return this.draft.profile.id;
  }

  start(): void {
    void this.#live();
  }

  /** The scheduler says that a task waits. */
  wake(): void {
    this.life.enter(() => this.#wake?.());
  }

  async #live(): Promise<void> {
    await this.#sleep(this.draft.after);
    await this.#join();
    void this.#beat();
    for (let slot = 0; slot < this.draft.profile.slots; slot++) void this.#serve(slot);
  }

  async #join(): Promise<void> {
    const { front } = this.#deps;
    while ((await this.#call("join", (at) => front.join(at, this.draft.profile))) === undefined) {
      await this.#sleep(seconds(1));
    }
  }

  /** Signs of life of the session itself, apart from those for its leases. */
  async #beat(): Promise<void> {
    const { front } = this.#deps;
    for (;;) {
      await this.#sleep(millis(Math.ceil(this.draft.profile.ttl / 2)));
      await this.#call("beat", (at) => front.beat(at, this.id));
    }
  }

  async #serve(slot: number): Promise<void> {
    const { chance, latency } = this.#deps;
    for (;;) {
      const since = this.#deps.clock.now();
      const grant = await this.#seek(slot);
      if (grant === undefined || grant.ttl === 0) {
        await this.#rest(millis(chance.whole(200, 5_000)));
        continue;
      }
      latency(this.#deps.clock.now() - since);
      this.#deps.remember(grant);
      await this.#work(grant);
    }
  }

  /** Asks for a task; while no answer comes it asks again under the same key, if it uses keys at all. */
  async #seek(slot: number): Promise<SimulatedGrant | undefined> {
    const { chance, front, mode } = this.#deps;
    const wait = this.draft.listens && mode !== "push" ? millis(0) : chance.span(500, 20_000);
    if (mode === "push" || (mode === "hybrid" && chance.flip(0.4))) {
      return (await this.#call("assignment", (at) => front.assignment(at, this.id, wait), wait))?.value;
    }
    const key = this.draft.names ? `${slot}.${++this.#claims}.${chance.whole(0, 1e9)}` : undefined;
    for (let tries = 0; tries < (key === undefined ? 1 : TRIES_MAX); tries++) {
      const asking = { session: this.id, wait, ...(key !== undefined && { key }) };
      const answer = await this.#call("claim", (at) => front.claim(at, asking), wait);
      if (answer !== undefined) return answer.value;
      await this.#sleep(chance.span(100, 3_000));
    }
    return undefined;
  }

  /** Waits for a wake, if it listens for one, and comes back by itself in any case. */
  async #rest(span: Millis): Promise<void> {
    if (!this.draft.listens) return this.#sleep(span);
    const woken = new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    await Promise.race([woken, this.#sleep(seconds(20))]);
  }

  async #work(grant: SimulatedGrant): Promise<void> {
    const { chance, fateOf, clock } = this.#deps;
    const fate = fateOf(`${grant.run}/${grant.task}`, grant.fence);
    const begun = clock.now();
    const { isPunctual } = this.draft;
    // A renewal two moments before the end may just arrive in time, depending on the delay of the network.
    const beatEvery = millis(Math.max(1, isPunctual ? grant.ttl - 2 : Math.floor(grant.ttl / 3)));
    let left: number = fate.hangs ? Number.POSITIVE_INFINITY : fate.lasts;
    if (chance.flip(0.5)) await this.#report(grant, { kind: "start" });
    while (left > 0) {
      const step = millis(Math.min(left, beatEvery));
      await this.#sleep(step);
      left -= step;
      if (left <= 0) break;
      const report: LeaseReport = chance.flip(0.2) ? { kind: "progress", note: "on it" } : { kind: "heartbeat" };
      const answer = await this.#report(grant, report, isPunctual ? ANSWER_TIMEOUT : beatEvery);
      if (answer === "lost") return;
      if (answer === "stop") break;
    }
    const lasted = millis(clock.now() - begun);
    await this.#deliver(grant, this.#lastReport(grant, left > 0, lasted));
  }

  #lastReport({ run, task, fence }: SimulatedGrant, isStopped: boolean, durationMs: Millis): LeaseReport {
    const { chance, fateOf } = this.#deps;
    if (isStopped) return { kind: "fail", outcome: stoppedWith({ kind: "shutdown" }, durationMs) };
    if (chance.flip(0.05)) return { kind: "release", why: "not mine" };
    const { outcome } = fateOf(`${run}/${task}`, fence);
    return { kind: outcome.kind === "success" ? "complete" : "fail", outcome: { ...outcome, durationMs } };
  }

  /** Repeats the report until it is answered, or another session has the task. */
  async #deliver(grant: SimulatedGrant, report: LeaseReport): Promise<void> {
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const answer = await this.#report(grant, report);
      if (answer !== "silence") return;
      await this.#sleep(this.#deps.chance.span(100, 5_000));
    }
  }

  async #report(
    grant: SimulatedGrant,
    report: LeaseReport,
    answerTimeout: Millis = ANSWER_TIMEOUT,
  ): Promise<"on" | "stop" | "lost" | "silence"> {
    const { front, network } = this.#deps;
    try {
      const { stops } = await network.call({
        client: this.id,
        life: this.life,
        what: `${report.kind} ${grant.task}`,
        handle: (at) => front.report(at, grant, report),
        answerTimeout,
      });
      return stops ? "stop" : "on";
    } catch (error) {
      if (error instanceof Unreachable) return "silence";
      this.#expect(error, report.kind);
      return "lost";
    }
  }

  /** The answer, or nothing when none came. A session that the scheduler does not know any more joins again. */
  async #call<T>(
    what: string,
    handle: (at: SimulatedScheduler) => Promise<T>,
    wait: Millis = millis(0),
  ): Promise<{ readonly value: T } | undefined> {
    const { network } = this.#deps;
    try {
      const answerTimeout = millis(wait + ANSWER_TIMEOUT);
      return { value: await network.call({ client: this.id, life: this.life, what, handle, answerTimeout }) };
    } catch (error) {
      if (error instanceof Unreachable) return undefined;
      const code = this.#expect(error, what);
      if (code === "SESSION_UNKNOWN" || code === "SESSION_QUARANTINED") await this.#join();
      await this.#sleep(seconds(2));
      return undefined;
    }
  }

  #expect(error: unknown, what: string): string {
    const code = error instanceof UserError ? error.code : String(error);
    if (!EXPECTED.has(code)) this.#deps.violate(`${this.id} was answered ${code} to its ${what}: ${String(error)}`);
    return code;
  }

  #sleep(span: Millis): Promise<void> {
    return new Promise((resolve) => void this.#clock.at(later(this.#clock.now(), span), resolve));
  }
}
