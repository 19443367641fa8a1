/** Which tasks have a log on this machine. */
import type { Task } from "../../domain/task.ts";

/** The output of a session is not seen here, and a command that could not be started printed nothing. */
export const leavesLog = ({ spec, status, attempt }: Task): boolean =>
  spec.pool === undefined && attempt > 0 && !(status.state === "failed" && status.outcome.kind === "spawn");
