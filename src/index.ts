/** Rota as a library: read and check plans, and the values they are made of; speak to a daemon. */
export {
  type CheckedPlan,
  checkPlan,
  type LoadedPlan,
  type LoadOptions,
  loadPlan,
  planJsonSchema,
} from "./app/plan-file.ts";
export { USER_ERRORS, UserError, type UserErrorCode } from "./domain/errors.ts";
export type { Event, EventKind } from "./domain/event.ts";
export type { Outcome } from "./domain/outcome.ts";
export type { RunOutcome } from "./domain/run.ts";
export type { TaskSpec } from "./domain/spec.ts";
export { TASK_STATES, type TaskState } from "./domain/task.ts";
export type { Diagnostic } from "./plan/diagnostics.ts";
export type { Plan } from "./plan/plan.ts";
export type {
  CycleResult,
  CycleStats,
  DaemonInfo,
  Done,
  DrainReply,
  EventReply,
  Grant,
  IssuedToken,
  LeaseReply,
  OutcomeReply,
  PauseReply,
  RunOutcomeReply,
  RunSummary,
  SessionReply,
  Settled,
  StatusReply,
  Submitted,
  TokenReply,
  WaitReply,
  Wake,
  WhyReply,
  WorkerReply,
} from "./wire/answers.ts";
export { type Call, type Client, type ConnectOptions, connect, type DaemonPlace } from "./wire/client.ts";
export type * from "./wire/service.ts";
