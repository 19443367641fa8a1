/** A turn of the engine as the cycle sees it: what the cycle may look at and do, and nothing else. */
import type { Dispatcher } from "../../decide/dispatcher.ts";
import { judge } from "../../decide/explain/eligible.ts";
import type { Pools } from "../../decide/pools.ts";
import type { Candidate } from "../../decide/queue/queue.ts";
import type { Shape } from "../../decide/room/shapes.ts";
import { misfitOf } from "../../decide/roster.ts";
import type { Session } from "../../domain/sessions/session.ts";
import type { World } from "../../domain/world.ts";
import type { SessionRegistry } from "../sessions/session-registry.ts";
import type { Turn } from "../turn/turn.ts";
import type { Fit, Pending, WakeTurn } from "./wake-port.ts";

export interface WakeView {
  readonly world: World;
  readonly pools: Pools;
  readonly registry: SessionRegistry;
  /** Sessions whose claim waits for an answer already. */
  readonly waiting: () => ReadonlySet<string>;
  /** Whether the pool's sessions are woken at all. */
  readonly wakes: (pool: string) => boolean;
  /** Deals with leases that have expired, and names their tasks. */
  readonly sweep: (turn: Turn, limit: number, why: string) => readonly string[];
  /** Whether the session can be reached by a wake. */
  readonly reaches: (session: Session) => boolean;
}

export function cycleTurn(turn: Turn, view: WakeView): WakeTurn {
  const { world, pools, registry, wakes, reaches } = view;
  const { now } = turn;
  const lines = (): (readonly [string, Dispatcher])[] => [...pools.sessionPools()];
  const isIdle = ({ profile, state }: Session): boolean =>
    state === "idle" && pools.line(profile.pool).isIdle(profile.id);
  const suited = ({ task, pool }: Pending): readonly Session[] => [
    ...(pools.line(pool).roster?.suited(task.spec) ?? []),
  ];
  /** A session that was woken for a task is taken: other tasks for it wait for a worker. */
  const isWoken = ({ profile }: Session): boolean => pools.line(profile.pool).ready.isOfferedTo(profile.id);
  /** By shape, as long as no session is woken: many tasks are for the same sessions. */
  const free = new Map<Shape, boolean>();
  const isAnyFree = (pending: Pending): boolean => {
    const shape = pools.line(pending.pool).runs.shapeOf(pending.run, pending.task);
    const known = free.get(shape) ?? suited(pending).some((each) => isIdle(each) && !isWoken(each));
    free.set(shape, known);
    return known;
  };
  const judged = judge(pools, now);
  return {
    now,
    paused: world.pauses.has("scheduler"),
    sweep: (limit, why) => {
      for (const session of registry.silent(now)) registry.leave(turn, session.profile.id, why);
      return view.sweep(turn, limit, why);
    },
    pending: () =>
      lines().flatMap(([pool, line]) =>
        Array.from(line.ready.values(), (candidate) => pendingOf(candidate, pool, line)),
      ),
    pendingCount: () => lines().reduce((sum, [, line]) => sum + line.ready.size, 0),
    offered: () =>
      lines().flatMap(([pool, line]) =>
        Array.from(line.ready.offered(), (candidate) => pendingOf(candidate, pool, line)),
      ),
    active: () => lines().reduce((sum, [, line]) => sum + line.out, 0),
    sessions: () => world.sessions.size,
    wakeable: () => {
      const waiting = view.waiting();
      const isFree = (session: Session): boolean =>
        isIdle(session) && !waiting.has(session.profile.id) && !isWoken(session);
      const may = (session: Session): boolean => wakes(session.profile.pool) && isFree(session) && reaches(session);
      return [...world.sessions.values()].filter(may);
    },
    choose: ({ profile }, may) => {
      const line = pools.line(profile.pool);
      if (line.ready.size === 0) return undefined;
      const sees = (shape: Parameters<typeof misfitOf>[1]): boolean => misfitOf(profile, shape) === undefined;
      const found = line.peekFor(profile.id, { sees, passes: may }, now);
      return found && { ...found, pool: profile.pool, since: now };
    },
    fit: (pending): Fit => {
      const { run, task } = pending;
      const found = judged(run, task);
      if (!found.ok && found.reasons[0].reason === "no-match") return "none";
      // Where the scheduler assigns, an idle session is about to be given the task.
      return found.ok && wakes(pending.pool) && isAnyFree(pending) ? "idle" : "busy";
    },
    suited: (pending) => suited(pending).filter((each) => isIdle(each) && reaches(each)),
    isPaused: ({ run, task }) => pools.of(task).ready.pauseOf(run, task) !== undefined,
    write: ({ run, task }, news) => {
      if (news.kind === "offered" || news.kind === "offer_ended") free.clear();
      turn.pending.ofTask(run, task, news, now);
    },
  };
}

const pendingOf = (candidate: Candidate, pool: string, line: Dispatcher): Pending => ({
  run: candidate.run,
  task: candidate.task,
  pool,
  since: line.ready.since(candidate),
});
