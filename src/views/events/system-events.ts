/** Events of the scheduler as a whole, for readers: sessions that come and go, and what people put on hold. */
import type { SystemEvent } from "../../domain/event.ts";
import { type Run, taskOf } from "../../domain/run.ts";
import type { Asked } from "../../domain/task.ts";
import type { PauseScope } from "../../domain/waiting/pause.ts";
import { unreachable } from "../../std/invariant.ts";
import type { EventReply } from "../../wire/replies/event.ts";
import type { AskedReply } from "../../wire/replies/why.ts";
import type { Tone } from "../text/line.ts";
import { plural } from "../text/moment.ts";

export const askedJson = ({ by, why }: Asked): AskedReply => ({ by, ...(why !== undefined && { why }) });
export const askedWords = ({ by, why }: Asked): string => `asked by ${by}${why === undefined ? "" : `: ${why}`}`;

type SystemDetail = WithoutPlace<Extract<EventReply, { readonly kind: SystemEvent["kind"] }>>;
type WithoutPlace<E> = E extends unknown ? Omit<E, "seq" | "at" | "run"> : never;

/** `run` is the run that a pause is about, if it is about one. */
export function systemDetail(event: SystemEvent, run: Run | undefined): SystemDetail {
  switch (event.kind) {
    case "session_joined": {
      const { id, agent, pool, workspace, channel, capabilities, slots } = event.profile;
      return {
        kind: event.kind,
        session: id,
        agent,
        pool,
        ...(workspace && { workspace }),
        ...(channel && { channel }),
        capabilities,
        slots,
      };
    }
    case "session_changed":
      return { kind: event.kind, session: event.session, state: event.state, losses: event.losses };
    case "session_left":
      return { kind: event.kind, session: event.session, why: event.why };
    case "worker_started":
      return { kind: event.kind, worker: event.worker, node: event.node };
    case "paused":
    case "resumed":
      return { kind: event.kind, ...scopeJson(event.scope, run), ...askedJson(event.asked) };
    case "drained":
      return { kind: event.kind, ...scopeJson(event.scope, run), remaining: event.remaining };
    default:
      return unreachable(event);
  }
}

function scopeJson(scope: PauseScope, run: Run | undefined) {
  switch (scope.of) {
    case "scheduler":
    case "run":
      return { of: scope.of };
    case "pool":
      return { of: scope.of, pool: scope.pool };
    case "task":
      return { of: scope.of, ...(run && { task: taskOf(run, scope.task).spec.id }) };
    default:
      return unreachable(scope);
  }
}

export function systemWords(event: SystemEvent, run: Run | undefined): { readonly text: string; readonly tone?: Tone } {
  switch (event.kind) {
    case "session_joined":
      return { text: `session ${event.profile.id} (${event.profile.agent}) joined pool ${event.profile.pool}` };
    case "session_changed":
      return event.state === "stalled" || event.state === "quarantined"
        ? { text: `session ${event.session} is ${event.state}: it lost ${plural(event.losses, "lease")}`, tone: "warn" }
        : { text: `session ${event.session} is ${event.state}` };
    case "session_left":
      return { text: `session ${event.session} left: ${event.why}` };
    case "worker_started":
      return { text: `worker ${event.worker} of node ${event.node} started` };
    case "paused":
      return { text: `${scopeWords(event.scope, run)} paused, ${askedWords(event.asked)}`, tone: "warn" };
    case "resumed":
      return { text: `${scopeWords(event.scope, run)} resumed, ${askedWords(event.asked)}` };
    case "drained":
      return event.remaining === 0
        ? { text: `${scopeWords(event.scope, run)} drained`, tone: "good" }
        : { text: `${scopeWords(event.scope, run)} not drained: ${event.remaining} still out`, tone: "warn" };
    default:
      return unreachable(event);
  }
}

function scopeWords(scope: PauseScope, run: Run | undefined): string {
  switch (scope.of) {
    case "scheduler":
      return "everything";
    case "pool":
      return `pool ${scope.pool}`;
    case "run":
      return run === undefined ? "the run" : `run ${run.manifest.id}`;
    case "task":
      return run === undefined ? "the task" : `task ${taskOf(run, scope.task).spec.id}`;
    default:
      return unreachable(scope);
  }
}
