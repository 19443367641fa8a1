/** The sessions: they join, give signs of life, lose leases, and leave. */
import type { Pools } from "../../decide/pools.ts";
import { type Authority, foreignSession, mayActFor, mustActFor } from "../../domain/authority.ts";
import { UserError } from "../../domain/errors.ts";
import type { WorkerId } from "../../domain/ids.ts";
import { LOSSES_MAX, type ReportedState, type Session, type SessionProfile } from "../../domain/sessions/session.ts";
import { isLocalWorker, poolOf } from "../../domain/spec.ts";
import { isHeld } from "../../domain/task.ts";
import { type Instant, later, millis } from "../../domain/time.ts";
import type { World } from "../../domain/world.ts";
import type { Turn } from "../turn/turn.ts";
import { ownerOf } from "./tokens.ts";

export class SessionRegistry {
  readonly #world: World;
  readonly #pools: Pools;
  /** Signs of life that were not written down. */
  readonly #seen = new Map<WorkerId, Instant>();
  /** How many calls of each session are waiting: a session with a waiting call is present. */
  readonly #present = new Map<WorkerId, number>();

  constructor(world: World, pools: Pools) {
    this.#world = world;
    this.#pools = pools;
  }

  /** The sessions that were there when the last scheduler ended. Each has its full lease time again to give a sign of life. */
  restore(sessions: readonly Session[], now: Instant): void {
    for (const session of sessions) {
      this.#world.sessions.set(session.profile.id, session);
      this.#pools.enrol(session);
      this.#seen.set(session.profile.id, now);
    }
  }

  /** Joining again under one's own id is harmless: the session keeps its leases and its owner, and its losses are forgiven. */
  join(turn: Turn, asked: SessionProfile, authority: Authority): Session {
    this.#refuseOwn(asked);
    const known = this.#world.sessions.get(asked.id);
    if (known === undefined) this.#refuseHeirs(asked, authority);
    else mustActFor(known.profile, authority);
    const owner = known === undefined ? authority.token : known.profile.owner;
    const profile = owner === undefined ? asked : { ...asked, owner };
    this.#seen.set(profile.id, turn.now);
    if (known !== undefined && isSame(known.profile, profile) && known.losses === 0 && known.state === "idle") {
      return known;
    }
    if (known?.profile.pool !== profile.pool) this.#refuseToMove(profile);
    turn.pending.ofSystem({ kind: "session_joined", profile }, turn.now);
    const session = this.must(profile.id);
    this.#pools.enrol(session);
    return session;
  }

  beat(turn: Turn, id: WorkerId, state: ReportedState | undefined): Session {
    const session = this.must(id);
    this.#seen.set(id, turn.now);
    const next =
      session.state === "quarantined"
        ? session.state
        : (state ?? (session.state === "stalled" ? "idle" : session.state));
    if (next !== session.state) this.#change(turn, session, next, session.losses);
    return session;
  }

  /** A sign of life of any kind. A session that counted as gone is present again. */
  heard(turn: Turn, id: WorkerId): void {
    if (this.#world.sessions.has(id)) this.beat(turn, id, undefined);
  }

  /** Offers to the session end. The tasks it holds stay held until their leases expire. */
  leave(turn: Turn, id: WorkerId, why: string): void {
    const { pool } = this.must(id).profile;
    for (const { run, task } of [...this.#pools.line(pool).ready.offered()]) {
      if (task.offer?.session !== id) continue;
      turn.pending.ofTask(run, task, { kind: "offer_ended", session: id, why: "gone" }, turn.now);
    }
    turn.pending.ofSystem({ kind: "session_left", session: id, why }, turn.now);
    this.#pools.dismissSession(id);
    this.#seen.delete(id);
  }

  /** A lease of the session expired. A session that loses several in a row gets nothing more. */
  lost(turn: Turn, id: WorkerId): void {
    const session = this.#world.sessions.get(id);
    if (session === undefined) return;
    const losses = session.losses + 1;
    this.#change(turn, session, losses >= LOSSES_MAX ? "quarantined" : this.#withoutSign(session), losses);
  }

  /** The session did not begin its assigned task. That costs nothing, but it gets nothing more before its next sign of life. */
  missed(turn: Turn, id: WorkerId): void {
    const session = this.#world.sessions.get(id);
    const state = session && this.#withoutSign(session);
    if (session !== undefined && state !== undefined && state !== session.state)
      this.#change(turn, session, state, session.losses);
  }

  /** The session ended a task as it should: its earlier lost leases no longer count. */
  delivered(turn: Turn, id: WorkerId): void {
    const session = this.#world.sessions.get(id);
    if (session === undefined || session.losses === 0) return;
    this.#change(turn, session, session.state === "quarantined" ? "idle" : session.state, 0);
  }

  /** The machine slept: no session had a way to give a sign of life. */
  forgive(now: Instant): void {
    for (const id of this.#world.sessions.keys()) this.#seen.set(id, now);
  }

  /** A call of the session waits for its answer, until the returned function is called. */
  enter(id: WorkerId, now: Instant): () => void {
    this.#present.set(id, (this.#present.get(id) ?? 0) + 1);
    if (this.#world.sessions.has(id)) this.#seen.set(id, now);
    return () => {
      const left = (this.#present.get(id) ?? 1) - 1;
      if (left > 0) this.#present.set(id, left);
      else this.#present.delete(id);
    };
  }

  seenAt(session: Session): Instant {
    return this.#seen.get(session.profile.id) ?? session.seenAt;
  }

  /** Sessions without a sign of life for twice the span for which they keep a task. */
  silent(now: Instant): readonly Session[] {
    return [...this.#world.sessions.values()].filter(
      (session) =>
        !this.#present.has(session.profile.id) && now > later(this.seenAt(session), millis(session.profile.ttl * 2)),
    );
  }

  must(id: WorkerId): Session {
    const session = this.#world.sessions.get(id);
    if (session === undefined) throw new UserError("SESSION_UNKNOWN", `There is no session "${id}"`);
    return session;
  }

  /** A session with a waiting call has not gone silent. */
  #withoutSign({ profile, state }: Session): Session["state"] {
    return state === "quarantined" || this.#present.has(profile.id) ? state : "stalled";
  }

  /** Slots are counted in the pool where a session holds a task, also when it had left meanwhile. */
  #refuseToMove({ id, pool }: SessionProfile): void {
    for (const { worker, task } of this.#pools.held()) {
      const holds = poolOf(task.spec);
      if (worker !== id || holds === pool) continue;
      throw new UserError("SLOTS_TAKEN", `Session ${id} holds work of pool ${holds}, so it cannot come to ${pool}`);
    }
  }

  /** The scheduler's own workers have their own pool, and their names are reserved. */
  #refuseOwn({ id, pool }: SessionProfile): void {
    if (this.#pools.line(pool).roster === undefined)
      throw new UserError(
        "REQUEST_INVALID",
        `The pool "${pool}" is this machine's own workers: no session can join it`,
      );
    if (isLocalWorker(id))
      throw new UserError("REQUEST_INVALID", `"${id}" is what a worker of this machine is called: no session can be`);
  }

  /** The leases of a session that has left belong to its token: no other token gets them by joining under the same id. */
  #refuseHeirs({ id }: SessionProfile, authority: Authority): void {
    for (const { worker, task } of this.#pools.held()) {
      if (worker !== id || !isHeld(task.status)) continue;
      if (!mayActFor(ownerOf(task.status.lease.tokenHash), authority)) throw foreignSession(id);
    }
  }

  #change(turn: Turn, session: Session, state: Session["state"], losses: number): void {
    turn.pending.ofSystem({ kind: "session_changed", session: session.profile.id, state, losses }, turn.now);
  }
}

const isSame = (one: SessionProfile, other: SessionProfile): boolean => JSON.stringify(one) === JSON.stringify(other);
