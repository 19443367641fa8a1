/** The parts of the wake scheduler that a program may replace by its own, and how the cycle sees them. */
import { poolOf } from "../../domain/spec.ts";
import type { Escalation, Pending, WakeTarget as Target } from "../../engine/wake/wake-port.ts";
import type { WakeSchedulerDeps } from "../../engine/wake/wake-scheduler.ts";
import { isoOf } from "./reply.ts";

/** A task that waits for a session. */
export interface WaitingTask {
  /** The name of its run, and its own id. */
  readonly run: string;
  readonly task: string;
  readonly title?: string;
  readonly pool: string;
  /** What a session must be able to do to take it. */
  readonly requires: readonly string[];
}

/** A session to wake, and the task for it. The wake gives it nothing: the session has to claim. */
export interface WakeTarget extends WaitingTask {
  readonly session: string;
  /** Until then the task is kept for the session, unless several are woken for it. ISO 8601. */
  readonly until: string;
  readonly reason: "offered" | "fan-out";
  /** The setting `wakeReason`. */
  readonly why: string;
}

/** Wakes sessions one by one. It throws where it cannot reach the session. */
export interface SessionWaker {
  readonly wake: (target: WakeTarget) => void | Promise<void>;
}

/** Wakes all sessions of one cycle in one call, and gives an error, or none, for each of them in their order. */
export interface BatchWaker {
  readonly wakeMany: (targets: readonly WakeTarget[]) => WakeErrors | Promise<WakeErrors>;
}
type WakeErrors = readonly (Error | undefined)[];

/** Says whether waking is paused, beside the pauses of `rota pause`. Expired leases are dealt with all the same. */
export interface PauseStore {
  readonly isPaused: () => boolean | Promise<boolean>;
}

/** Does something about tasks that no session comes for. Each verb may be left out; where it throws it is called again in the next cycle. */
export interface EscalationActor {
  /** Starts a worker that covers what the task requires, in place of the setting `spawn` of the pool. False where that is not possible. */
  readonly spawn?: (task: WaitingTask) => boolean | Promise<boolean>;
  /** No session has come for the task in all this time. */
  readonly starved?: (task: WaitingTask, waitedMs: number) => void | Promise<void>;
  /** The task was parked: it waits for a person now. */
  readonly parked?: (task: WaitingTask, message: string) => void | Promise<void>;
}

/** The parts of the wake scheduler that a program may bring. */
export interface WakeParts {
  readonly waker?: SessionWaker | BatchWaker;
  readonly pauses?: PauseStore;
  readonly escalation?: EscalationActor;
}

/** Wakes the targets, with one answer for each. */
export type WakeMany = (targets: readonly Target[]) => Promise<WakeErrors>;

export function wakeManyOf(waker: SessionWaker | BatchWaker): WakeMany {
  if ("wakeMany" in waker) {
    return async (targets) => {
      const errors = await waker.wakeMany(targets.map(shown));
      if (errors.length === targets.length) return errors;
      return targets.map(() => new Error("the waker did not answer for every target"));
    };
  }
  return (targets) => Promise.all(targets.map((target) => errorOf(() => waker.wake(shown(target)))));
}

/** The error of the call, if it failed. */
async function errorOf(act: () => void | Promise<void>): Promise<Error | undefined> {
  try {
    await act();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

type Plugged = Pick<WakeSchedulerDeps, "isPaused" | "escalate"> & Partial<Pick<WakeSchedulerDeps, "spawn">>;

export function pluggedInto({ pauses, escalation }: WakeParts): Plugged {
  const { spawn, starved, parked } = escalation ?? {};
  const escalate = async (told: Escalation): Promise<void> => {
    const task = waitingTask(told.pending);
    if (told.kind === "starved") await starved?.(task, told.waitedMs);
    else await parked?.(task, told.message);
  };
  return {
    ...(pauses !== undefined && { isPaused: async () => pauses.isPaused() }),
    ...(spawn !== undefined && { spawn: async (pending: Pending) => spawn(waitingTask(pending)) }),
    ...((starved !== undefined || parked !== undefined) && { escalate }),
  };
}

function waitingTask({ run, task: { spec }, pool }: Pick<Pending, "run" | "task" | "pool">): WaitingTask {
  return {
    run: run.manifest.id,
    task: spec.id,
    ...(spec.title !== undefined && { title: spec.title }),
    pool,
    requires: spec.requires,
  };
}

const shown = ({ session, run, task, until, reason, why }: Target): WakeTarget => ({
  ...waitingTask({ run, task, pool: poolOf(task.spec) }),
  session,
  until: isoOf(until),
  reason,
  why,
});
