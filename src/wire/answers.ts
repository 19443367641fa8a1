/** Everything a daemon answers: the shapes from which the types, the OpenAPI document and the checks of tests follow. */
export * from "./replies/attempt.ts";
export * from "./replies/control.ts";
export * from "./replies/daemon.ts";
export * from "./replies/event.ts";
export * from "./replies/lease.ts";
export * from "./replies/manifest.ts";
export * from "./replies/plan.ts";
export * from "./replies/run.ts";
export * from "./replies/session.ts";
export * from "./replies/status.ts";
export * from "./replies/wait.ts";
export * from "./replies/why.ts";
