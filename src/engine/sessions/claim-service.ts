/**
 * Gives tasks to sessions. There is one way to claim, also where the scheduler begins: a session that asks, a session that waits, or, in a pool
 * that pushes, the scheduler for an idle session.
 */

import type { Assignment, Dispatcher } from "../../decide/dispatcher.ts";
import { eligible } from "../../decide/explain/eligible.ts";
import type { Pools } from "../../decide/pools.ts";
import { UserError } from "../../domain/errors.ts";
import type { WorkerId } from "../../domain/ids.ts";
import type { Run } from "../../domain/run.ts";
import type { DispatchMode } from "../../domain/sessions/pool.ts";
import type { Session, SessionProfile } from "../../domain/sessions/session.ts";
import { poolOf } from "../../domain/spec.ts";
import { isHeld, type Task } from "../../domain/task.ts";
import { type Instant, later, type Millis, seconds } from "../../domain/time.ts";
import type { World } from "../../domain/world.ts";
import type { Remembrance } from "../../store/store.ts";
import type { Turn } from "../turn/turn.ts";
import type { Leases } from "../work/leases.ts";
import { type ClaimOrder, keyOf, type LeaseGrant } from "./claim.ts";
import type { Refusals } from "./refusals.ts";
import { lanesDownTo, likeness, seekerOf } from "./seeking.ts";
import type { Tokens } from "./tokens.ts";

interface Waiter {
  readonly order: ClaimOrder;
  /** Called once the grant is durable. */
  readonly tell: (granted: LeaseGrant | undefined) => void;
  /** What decides which tasks it may have, and the profile from which that was made. */
  likeness?: { readonly of: SessionProfile; readonly text: string };
}

export interface ClaimServiceDeps {
  readonly world: World;
  readonly pools: Pools;
  readonly leases: Leases;
  readonly tokens: Tokens;
  readonly refusals: Refusals;
  readonly modeOf: (pool: string) => DispatchMode;
  /** How long an assigned task waits for its start. */
  readonly ack?: Millis;
}

const ACK = seconds(10);
/** After this many ignored offers a hybrid pool assigns the task. It does so for a starving task, too. */
const IGNORED_MAX = 2;
const isIgnored = ({ ignored = 0, starving }: Task): boolean => ignored >= IGNORED_MAX || starving !== undefined;
/** How many tasks a refusal names. */
const NAMED_MAX = 5;
/** How many keys are kept in memory. */
const KEYS_MAX = 10_000;

export class ClaimService {
  readonly #deps: ClaimServiceDeps;
  readonly #ack: Millis;
  readonly #waiting = new Map<string, Set<Waiter>>();
  readonly #assignees = new Map<WorkerId, Set<(granted: LeaseGrant | undefined) => void>>();
  readonly #keys = new Map<string, Remembrance>();

  constructor(deps: ClaimServiceDeps) {
    this.#deps = deps;
    this.#ack = deps.ack ?? ACK;
  }

  /** Sessions whose claim waits for its answer: they need no wake. */
  waiting(): ReadonlySet<WorkerId> {
    const all = new Set<WorkerId>();
    for (const waiting of this.#waiting.values()) for (const { order } of waiting) all.add(order.session);
    return all;
  }

  /** Gives a task to the session, or lets the caller wait for one. Gives the function that ends the wait, which says whether it was still waiting. */
  claim(turn: Turn, order: ClaimOrder, tell: Waiter["tell"]): () => boolean {
    const session = this.mustKnow(order.session);
    const { pool } = session.profile;
    const again = this.#again(session, order);
    const granted = again ?? this.#grant(turn, session, order);
    if (granted !== undefined || order.until <= turn.now) {
      turn.after(() => tell(granted));
      return () => false;
    }
    const waiter: Waiter = { order, tell };
    return waitIn(this.#waiting, pool, waiter);
  }

  /** The task that was assigned to the session and not begun; else `tell` is called when one is. */
  assignment(turn: Turn, id: WorkerId, tell: (granted: LeaseGrant | undefined) => void): () => boolean {
    const granted = this.#unbegun(this.mustKnow(id));
    if (granted !== undefined) {
      turn.after(() => tell(granted));
      return () => false;
    }
    return waitIn(this.#assignees, id, tell);
  }

  /** The session has left: its waiting calls get nothing, so that nothing is given to a later session with the same id. */
  forget(turn: Turn, id: WorkerId): void {
    const tells = [...(this.#assignees.get(id) ?? [])];
    this.#assignees.delete(id);
    // In every pool: it may have been in another pool when it asked.
    for (const [pool, waiting] of this.#waiting) {
      for (const waiter of waiting) if (waiter.order.session === id && waiting.delete(waiter)) tells.push(waiter.tell);
      if (waiting.size === 0) this.#waiting.delete(pool);
    }
    turn.after(() => {
      for (const tell of tells) tell(undefined);
    });
  }

  /** Part of every turn: waiting claims get what has become free, and pools that push assign. */
  serve(turn: Turn): void {
    for (const [pool, line] of this.#deps.pools.sessionPools()) {
      this.#serveWaiting(turn, pool);
      const mode = this.#deps.modeOf(pool);
      if (mode !== "pull") this.#assign(turn, line, mode);
    }
  }

  /** Every waiting caller gets nothing: the scheduler stops. */
  close(): void {
    for (const waiting of this.#waiting.values()) for (const { tell } of waiting) tell(undefined);
    for (const waiting of this.#assignees.values()) for (const tell of waiting) tell(undefined);
    this.#waiting.clear();
    this.#assignees.clear();
  }

  mustKnow(id: WorkerId): Session {
    const session = this.#deps.world.sessions.get(id);
    if (session === undefined) throw new UserError("SESSION_UNKNOWN", `There is no session "${id}"`);
    if (session.state === "quarantined") {
      throw new UserError("SESSION_QUARANTINED", `Session ${id} lost ${session.losses} leases in a row`);
    }
    return session;
  }

  #serveWaiting(turn: Turn, pool: string): void {
    const waiting = this.#waiting.get(pool);
    if (waiting === undefined || waiting.size === 0) return;
    const line = this.#deps.pools.line(pool);
    const inVain = new Set<string>();
    for (const waiter of waiting) {
      const { order, tell } = waiter;
      const session = this.#deps.world.sessions.get(order.session);
      if (session === undefined) continue;
      // The session repeats a claim whose answer was lost on the way.
      const granted = this.#known(session, order)?.granted ?? this.#serveOne(turn, line, waiter, session, inVain);
      if (granted === undefined) continue;
      waiting.delete(waiter);
      turn.after(() => tell(granted));
    }
    if (waiting.size === 0) this.#waiting.delete(pool);
  }

  /** When a session got nothing, sessions that are like it get nothing either, and are not looked at. */
  #serveOne(
    turn: Turn,
    line: Dispatcher,
    waiter: Waiter,
    session: Session,
    inVain: Set<string>,
  ): LeaseGrant | undefined {
    const { order } = waiter;
    if (!mayBeServed(line, session) || line.ready.size === 0) return undefined;
    const kind =
      order.task === undefined && this.#isLikeOthers(line, session) ? likenessOf(waiter, session) : undefined;
    if (kind !== undefined && inVain.has(kind)) return undefined;
    const isInVain = kind !== undefined && !line.runs.hasFor(seekerOf(session).sees);
    const granted = isInVain ? undefined : this.#take(turn, session, order);
    if (granted === undefined && kind !== undefined) inVain.add(kind);
    return granted;
  }

  /** The scheduler assigns a task to every idle session of the pool, as far as there are tasks. The session has to report the start. */
  #assign(turn: Turn, line: Dispatcher, mode: DispatchMode): void {
    const inVain = new Set<string>();
    for (const session of line.roster?.values() ?? []) {
      if (line.idle === 0 || line.ready.size === 0) return;
      const kind = this.#isLikeOthers(line, session) ? likeness(session.profile) : undefined;
      if (kind !== undefined && inVain.has(kind)) continue;
      const mayHave = this.#deps.refusals.passes(session.profile.id);
      const passes = mode === "hybrid" ? (task: Task) => isIgnored(task) && mayHave?.(task) !== false : mayHave;
      const seeker = { ...seekerOf(session), ...(passes && { passes }) };
      while (mayBeServed(line, session)) {
        const assignment = line.nextFor(session.profile.id, seeker, turn.now);
        if (assignment === undefined) {
          if (kind !== undefined) inVain.add(kind);
          break;
        }
        this.#tellAssigned(turn, this.#commit(turn, session, assignment, later(turn.now, this.#ack), {}), session);
      }
    }
  }

  /** Tells the session's waiting call; a later call finds the assignment as long as it is not begun. */
  #tellAssigned(turn: Turn, granted: LeaseGrant, { profile: { id } }: Session): void {
    const waiting = [...(this.#assignees.get(id) ?? [])];
    this.#assignees.get(id)?.clear();
    this.#assignees.delete(id);
    turn.after(() => {
      for (const tell of waiting) tell(granted);
    });
  }

  #grant(turn: Turn, session: Session, order: ClaimOrder): LeaseGrant | undefined {
    const { id, pool } = session.profile;
    if (this.#deps.modeOf(pool) === "push") {
      throw new UserError("SELF_CLAIM_DISABLED", `Pool ${pool} assigns its tasks; sessions do not claim them`);
    }
    if (!this.#deps.pools.line(pool).isIdle(id)) {
      // Where both sides may begin a claim, the scheduler may have assigned a task that the session does not know of yet.
      const given = this.#deps.modeOf(pool) === "hybrid" ? this.#unbegun(session) : undefined;
      if (given !== undefined && (order.task ?? given.task) === given.task)
        return this.#named(turn, session, order, given);
      throw new UserError("SLOTS_TAKEN", `Session ${id} holds ${this.#heldBy(session)} already`);
    }
    const granted = this.#take(turn, session, order);
    if (granted === undefined && order.task !== undefined && order.until <= turn.now)
      throw this.#notClaimable(turn, order);
    return granted;
  }

  /** Remembers the key: a repeated claim gets the same grant, also when the grant is an assignment from before the claim. */
  #named(turn: Turn, { profile }: Session, { key }: ClaimOrder, given: LeaseGrant): LeaseGrant {
    const { run, task, fence } = given;
    if (key !== undefined) this.#remember(turn, keyOf(profile, key), this.#remembrance(run, task, fence));
    return given;
  }

  /** The tasks that the session holds, as a refusal names them. */
  #heldBy({ profile: { id, pool } }: Session): string {
    const held = [...this.#deps.pools.line(pool).held()].filter(({ worker }) => worker === id);
    const named = held.slice(0, NAMED_MAX).map(({ run, task }) => `${task.spec.id} (run ${run.manifest.id})`);
    const rest = held.length - named.length;
    return `${named.join(", ")}${rest > 0 ? ` and ${rest} more` : ""}`;
  }

  /** The task that was assigned to the session and not begun. */
  #unbegun({ profile: { id, pool } }: Session): LeaseGrant | undefined {
    for (const { run, task, worker } of this.#deps.pools.line(pool).held()) {
      if (worker === id && task.status.state === "claimed") return this.#granted(run, task);
    }
    return undefined;
  }

  #take(turn: Turn, session: Session, order: ClaimOrder): LeaseGrant | undefined {
    const { id, pool } = session.profile;
    const line = this.#deps.pools.line(pool);
    const seeker = seekerOf(session);
    const { task, run } = order;
    const passes = this.#deps.refusals.passes(id);
    const assignment =
      task === undefined
        ? line.nextFor(
            id,
            { ...seeker, ...(passes && { passes }), lanes: lanesDownTo(order.priority), ...(run && { run: run.no }) },
            turn.now,
          )
        : poolOf(task.spec) === pool
          ? line.exactFor(id, seeker, task, turn.now)
          : undefined;
    if (assignment === undefined) return undefined;
    return this.#commit(turn, session, assignment, later(turn.now, session.profile.ttl), order);
  }

  /** No task is kept for this session alone, and none is kept from it. */
  #isLikeOthers = (line: Dispatcher, { profile: { id } }: Session): boolean =>
    !line.owners.has(id) && !line.ready.isOfferedTo(id) && this.#deps.refusals.passes(id) === undefined;

  /** The one place where a session gets a task. */
  #commit(
    turn: Turn,
    { profile }: Session,
    assignment: Assignment,
    deadline: Instant,
    { key, by }: Pick<ClaimOrder, "key" | "by">,
  ): LeaseGrant {
    const { run, task } = assignment;
    const { owner } = profile;
    const fence = task.attempt + 1;
    const token = this.#deps.tokens.issue(run, task, fence, owner);
    const tokenHash = this.#deps.tokens.hash(token);
    const named = { ...(key !== undefined && { key }), ...(by !== undefined && { by }) };
    this.#deps.leases.grant(turn, assignment, { deadline, tokenHash, ...named });
    if (key !== undefined) this.#remember(turn, keyOf(profile, key), this.#remembrance(run, task, fence));
    return this.#granted(run, task, fence, token);
  }

  #granted(run: Run, task: Task, fence = task.attempt, token = this.#deps.tokens.again(run, task, fence)): LeaseGrant {
    const { status } = task;
    const isLive = isHeld(status) && status.lease.fence === fence;
    return {
      run,
      task,
      fence,
      token,
      deadline: isLive ? status.lease.deadline : (0 as Instant),
      ttl: isLive ? this.#deps.leases.ttlOf(status) : (0 as Millis),
    };
  }

  #again(session: Session, order: ClaimOrder): LeaseGrant | undefined {
    const known = this.#known(session, order);
    if (known === undefined) return undefined;
    const { granted } = known;
    if (granted === undefined)
      throw new UserError("LEASE_LOST", `What was claimed as "${order.key}" has ended, and its run with it`);
    const { task } = granted;
    if (order.task !== undefined && order.task !== task)
      throw new UserError(
        "REQUEST_INVALID",
        `"${order.key}" is the key of a claim of ${task.spec.id}: take another for this one`,
      );
    return granted;
  }

  /** The answer that the key got, if it was used; without a grant when the run is over. */
  #known(
    { profile }: Session,
    { key, recalled }: ClaimOrder,
  ): { readonly granted: LeaseGrant | undefined } | undefined {
    const known = key === undefined ? undefined : (this.#keys.get(keyOf(profile, key)) ?? recalled);
    if (known === undefined) return undefined;
    const run = this.#deps.world.run(known.run);
    const task = run?.tasks[known.task ?? -1];
    if (run === undefined || task === undefined) return { granted: undefined };
    const { fence = task.attempt, mark } = known;
    return { granted: this.#granted(run, task, fence, this.#deps.tokens.again(run, task, fence, mark)) };
  }

  #remembrance(run: Run, task: Task, fence: number): Remembrance {
    return { run: run.no, task: task.no, fence, mark: this.#deps.tokens.markOf(task, fence) };
  }

  #remember(turn: Turn, key: string, answer: Remembrance): void {
    turn.pending.remember({ key, at: turn.now, answer });
    this.#keys.set(key, answer);
    if (this.#keys.size > KEYS_MAX) this.#keys.delete(this.#keys.keys().next().value as string);
  }

  #notClaimable({ now }: Turn, { task, run, session }: ClaimOrder): UserError {
    const judged = run && task && eligible(this.#deps.pools, run, task, session, now);
    const reasons =
      judged === undefined || judged.ok ? "its turn" : judged.reasons.map(({ reason }) => reason).join(", ");
    return new UserError("NOT_CLAIMABLE", `${task?.spec.id} cannot be claimed by ${session} now: ${reasons}`);
  }
}

/** A session that waits for a person, does something else, or is quarantined is left alone. */
const mayBeServed = (line: Dispatcher, { state, profile: { id } }: Session): boolean =>
  state === "idle" && line.isIdle(id);

function likenessOf(waiter: Waiter, { profile }: Session): string {
  const { run, priority } = waiter.order;
  if (waiter.likeness?.of !== profile) {
    waiter.likeness = { of: profile, text: `${likeness(profile)} ${run?.no} ${priority}` };
  }
  return waiter.likeness.text;
}

/** Gives the function that ends the wait, which says whether it was still waiting. */
function waitIn<Key, Waiting>(all: Map<Key, Set<Waiting>>, key: Key, one: Waiting): () => boolean {
  const waiting = all.get(key) ?? new Set();
  all.set(key, waiting.add(one));
  return () => {
    const still = waiting.delete(one);
    if (waiting.size === 0 && all.get(key) === waiting) all.delete(key);
    return still;
  };
}
