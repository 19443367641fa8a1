/** What an executor is asked to do for a claim: the work of the task, or its acceptance command once the work is done. */
import { resolve } from "node:path";
import type { Run } from "../domain/run.ts";
import type { Task } from "../domain/task.ts";
import type { Attempt } from "../execute/executor.ts";
import { invariant } from "../std/invariant.ts";

/** `log`: where its output goes. */
export function attemptOf({ manifest }: Run, { spec, status, attempt: fence }: Task, log: string): Attempt {
  const isVerified = status.state === "verifying";
  const work = isVerified ? spec.verify : spec.run;
  invariant(work !== undefined, `${spec.id} says how it is verified`);
  return {
    run: manifest.id,
    task: spec.id,
    fence,
    ...(isVerified && { verification: status.tries }),
    work,
    cwd: resolve(manifest.directory, spec.cwd ?? "."),
    env: spec.env,
    priority: spec.priority,
    log,
    ...(spec.memoryLimit !== undefined && { memoryLimit: spec.memoryLimit }),
  };
}
