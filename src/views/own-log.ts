/** Which tasks have a log here that is worth a look. */
import type { Task } from "../domain/task.ts";

/** What a session did is not seen here, and what could not be started has said nothing. */
export const leavesLog = ({ spec, status, attempt }: Task): boolean =>
  spec.pool === undefined && attempt > 0 && !(status.state === "failed" && status.outcome.kind === "spawn");
