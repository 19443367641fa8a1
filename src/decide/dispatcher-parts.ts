/** The parts of a dispatcher, and what each of them knows of the others. */
import type { Instant } from "../domain/time.ts";
import { RunIndex } from "./order/run-index.ts";
import { PATIENCE, type Patience, Tally } from "./queue/aging.ts";
import { Chooser } from "./queue/chooser.ts";
import { Fairness } from "./queue/fairness.ts";
import { type LanePolicy, Lanes } from "./queue/lanes.ts";
import type { Candidate } from "./queue/queue.ts";
import { Reserved } from "./queue/reserved.ts";
import { Waiting } from "./queue/waiting.ts";
import type { NodeSpec } from "./room/nodes.ts";
import { SharedResources } from "./room/shared-resources.ts";
import { Site } from "./room/site.ts";
import type { Roster } from "./roster.ts";

/** `workers`, `capacity` and `capabilities` are those of this machine; `others` are further nodes. */
export interface DispatcherOptions extends Omit<NodeSpec, "name"> {
  readonly others?: readonly NodeSpec[];
  /** Only tasks of this pool; all when absent. */
  readonly pool?: string;
  /** The sessions of the pool, where it is one of sessions. */
  readonly roster?: Roster;
  /** What this pool shares with others. */
  readonly shared?: SharedResources;
  readonly patience?: Patience;
  readonly priorities?: LanePolicy;
}

export interface DispatcherParts {
  readonly runs: RunIndex;
  readonly site: Site;
  readonly lanes: Lanes;
  readonly fairness: Fairness;
  readonly shared: SharedResources;
  readonly given: Tally;
  /** Every ready task. */
  readonly ready: Waiting;
  readonly reserved: Reserved;
  readonly chooser: Chooser;
}

/** `isHeldBack`: whether the task waits for a service, or for less pressure. */
export function partsOf(
  options: DispatcherOptions,
  isHeldBack: (candidate: Candidate, now: Instant) => boolean,
): DispatcherParts {
  const { patience = PATIENCE, shared = new SharedResources() } = options;
  const runs = new RunIndex();
  const fairness = new Fairness();
  const given = new Tally();
  const lanes = new Lanes(options.priorities ?? "shares");
  const site = new Site([{ name: "local", ...options }, ...(options.others ?? [])], shared.shared);
  const setAside = (candidate: Candidate): void => shared.waits?.setAside(candidate);
  const ready = new Waiting({
    queueOf: (no) => runs.queueOf(no),
    rankOf: (run, task) => runs.rank(run, task),
    shapeOf: (run, task) => runs.shapeOf(run, task),
    isPossible: (shape) => runs.isPossible(shape),
    fairness,
    given,
    patience,
    pauses: shared.pauses,
    setAside,
  });
  const reserved = new Reserved({
    site,
    locks: shared.locks,
    given,
    patience,
    isHeldBack,
    until: (run, task, since) => runs.until(run, task, since),
  });
  const chooser = new Chooser({
    queueOf: (no) => runs.queueOf(no),
    fairness,
    reserved,
    behind: ready.behind,
    shared,
    site,
    passed: ({ run }) => shared.waits?.passed(run),
    setAside,
  });
  return { runs, site, lanes, fairness, shared, given, ready, reserved, chooser };
}
