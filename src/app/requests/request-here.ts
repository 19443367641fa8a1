/** The requests of a person for a run of this process's own scheduler: recorded first, like all others, then carried out. */
import type { Run } from "../../domain/run.ts";
import type { Asked, Task } from "../../domain/task.ts";
import type { RequestKind } from "../../store/store.ts";
import type { Scheduler } from "../scheduler.ts";

export interface Request extends Asked {
  readonly kind: RequestKind;
  readonly run: Run;
  /** The whole run when absent. */
  readonly task?: Task | undefined;
}

export async function requestHere(
  { store, engine, clock }: Pick<Scheduler, "store" | "engine" | "clock">,
  { kind, run, task, by, why }: Request,
): Promise<void> {
  await store.request({
    kind,
    run: run.manifest.id,
    by,
    at: clock.now(),
    ...(task !== undefined && { task: task.spec.id }),
    ...(why !== undefined && { why }),
  });
  await engine.takeRequests();
}
