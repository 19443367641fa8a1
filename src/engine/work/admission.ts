/** Whether the queue takes more tasks. */
import type { Pools } from "../../decide/pools.ts";
import { PRESSURE_POLICY, type PressureLimits } from "../../decide/queue/pressure.ts";
import { UserError } from "../../domain/errors.ts";
import type { TaskSpec } from "../../domain/spec.ts";

/** A full shared queue takes no more tasks, and a nearly full one takes only the most urgent. */
export function refuseOverload({ queued, local }: Pools, specs: readonly TaskSpec[], limits: PressureLimits): void {
  const { admits } = PRESSURE_POLICY[local.mode];
  if (specs.some(({ priority }) => !admits.includes(priority))) {
    throw new UserError(
      "QUEUE_FULL",
      `The queue is nearly full (${queued} of ${limits.depth}) and takes only critical tasks`,
    );
  }
  if (queued > 0 && queued + specs.length > limits.depth) {
    throw new UserError(
      "QUEUE_FULL",
      `${specs.length} tasks do not fit into the queue: ${queued} of ${limits.depth} wait`,
    );
  }
}
