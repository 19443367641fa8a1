/** A named group of workers. */

/** Who begins a claim in a pool: the scheduler, the sessions, or the scheduler where sessions do not. */
export const DISPATCH_MODES = ["push", "pull", "hybrid"] as const;
export type DispatchMode = (typeof DISPATCH_MODES)[number];
