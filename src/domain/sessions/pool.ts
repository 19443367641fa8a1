/** A named group of workers. */

/** Who begins a claim in a pool. `push`: the scheduler. `pull`: the sessions. `hybrid`: the scheduler, where no session does. */
export const DISPATCH_MODES = ["push", "pull", "hybrid"] as const;
export type DispatchMode = (typeof DISPATCH_MODES)[number];
