/** The work of the engine: leases and their deadlines, the attempts and acceptance commands of this process, and what ends them early. */

import type { Pools } from "../../decide/pools.ts";
import { PRESSURE_POLICY } from "../../decide/queue/pressure.ts";
import { Deadlines } from "../../decide/rules/deadlines.ts";
import { nextDeadline } from "../../decide/rules/timeouts.ts";
import type { WorkerId } from "../../domain/ids.ts";
import type { DispatchMode } from "../../domain/sessions/pool.ts";
import { type Millis, seconds } from "../../domain/time.ts";
import type { World } from "../../domain/world.ts";
import type { EngineDeps } from "../options.ts";
import type { SessionRegistry } from "../sessions/session-registry.ts";
import type { Input } from "../turn/turn.ts";
import { attemptOf } from "./attempt.ts";
import { DeadlineWatcher } from "./deadline-watcher.ts";
import { Leases } from "./leases.ts";
import { LocalWorkers } from "./local-workers.ts";
import { Signs } from "./signs.ts";
import { Stopper } from "./stopper.ts";
import { Verifier } from "./verifier.ts";

const GRACE = seconds(5);

export interface WorkDeps extends Pick<EngineDeps, "clock" | "executor" | "logOf" | "options"> {
  readonly world: World;
  readonly pools: Pools;
  readonly registry: SessionRegistry;
  readonly ttl: Millis;
  readonly modeOf: (pool: string) => DispatchMode;
  /** Hands an input to the next turn. */
  readonly take: (input: Input) => void;
  /** Whether nothing is begun any more. */
  readonly isShut: () => boolean;
}

export type Work = ReturnType<typeof assembleWork>;

export function assembleWork({ clock, executor, logOf, options, ...deps }: WorkDeps) {
  const { world, pools, registry, ttl, modeOf, take, isShut } = deps;
  const { grace = GRACE, stuckAfter } = options;
  const signs = new Signs(() => clock.leapt());
  /** Time-outs are longer when the queue is full. */
  const timeoutFactor = (): number => PRESSURE_POLICY[pools.local.mode].timeoutFactor;
  const deadlines = new Deadlines((_, task) => nextDeadline(task, signs.of(task), timeoutFactor(), stuckAfter));
  const nodeOf = (worker: WorkerId): string => pools.local.nodeOf(worker).name;
  const leases = new Leases({
    world,
    signs,
    ttl,
    watch: (run, task) => deadlines.watch(run, task),
    verify: (turn, run, task, work) => verifier.begin(turn, run, task, work),
  });
  const workers = new LocalWorkers({
    executor,
    attemptOf: (run, task) => attemptOf(run, task, { node: nodeOf, log: logOf(run, task) }),
    leases,
    signs,
    now: () => clock.now(),
    take,
    verifier: () => verifier,
  });
  const verifier: Verifier = new Verifier({ leases, workers, ttl, max: Math.max(1, options.workers.length), isShut });
  const stopper = new Stopper({ leases, workers, grace });
  const deadlineWatcher = new DeadlineWatcher({
    world,
    pools,
    workers,
    leases,
    signs,
    stopper,
    registry,
    modeOf,
    timeoutFactor,
    stuckAfter,
  });
  return { deadlines, signs, leases, workers, verifier, stopper, deadlineWatcher };
}
