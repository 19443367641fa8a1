/** Rota as a library: check a plan, run it within a program, with functions and commands; speak to a daemon. */
export type { Settings } from "./app/config/settings.ts";
export type {
  BatchWaker,
  EscalationActor,
  PauseStore,
  SessionWaker,
  WaitingTask,
  WakeParts,
  WakeTarget,
} from "./app/daemon/wake-parts.ts";
export {
  type CheckedPlan,
  checkPlan,
  type LoadedPlan,
  type LoadOptions,
  loadPlan,
  planJsonSchema,
} from "./app/runs/plan-file.ts";
export { USER_ERRORS, UserError, type UserErrorCode } from "./domain/errors.ts";
export type { Event, EventKind } from "./domain/event.ts";
export type { FailureKind, Outcome } from "./domain/outcome.ts";
export type { RunOutcome } from "./domain/run.ts";
export type { TaskSpec } from "./domain/spec.ts";
export { TASK_STATES, type TaskState } from "./domain/task.ts";
export type { Duration, Functions, PlanDefaults, PlanObject, PlanSource, PlanTask } from "./library/plan.ts";
export type { ResultsOf, RunResult, TaskResult } from "./library/result.ts";
export { type RunOptions, run } from "./library/run.ts";
export {
  type EmbeddedScheduler,
  openScheduler,
  type Rebuilt,
  type SchedulerOptions,
  type WakeScheduler,
} from "./library/scheduler.ts";
export {
  type TaskAnswer,
  type TaskContext,
  TaskFailure,
  type TaskFailureOptions,
  type TaskFunction,
} from "./library/task-function.ts";
export type { Diagnostic } from "./plan/check/diagnostics.ts";
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
  ManifestReply,
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
