/** What an executor is asked to do for a claim: the work of the task, or its acceptance command once the work is done. */
import type { WorkerId } from "../../domain/ids.ts";
import { directoryOf, type Run } from "../../domain/run.ts";
import { isHeld, type Task } from "../../domain/task.ts";
import type { Attempt } from "../../execute/executor.ts";
import { invariant } from "../../std/invariant.ts";

/** `node`: where its worker is. `log`: where its output goes. */
export function attemptOf(
  { manifest }: Run,
  { spec, status, attempt: fence }: Task,
  { node, log }: { readonly node: (worker: WorkerId) => string; readonly log: string },
): Attempt {
  invariant(isHeld(status), `${spec.id} is held by the worker that makes the attempt`);
  const { worker } = status.lease;
  const isVerified = status.state === "verifying";
  const work = isVerified ? spec.verify : spec.run;
  invariant(work !== undefined, `${spec.id} says how it is verified`);
  return {
    run: manifest.id,
    task: spec.id,
    fence,
    ...(isVerified && { verification: status.tries }),
    work,
    where: { worker, node: node(worker), directory: directoryOf(manifest, spec) },
    env: spec.env,
    priority: spec.priority,
    log,
    ...(spec.memoryLimit !== undefined && { memoryLimit: spec.memoryLimit }),
  };
}
