/** Puts the engine together: what each part is given, and nothing more. */
import { Deadlines } from "../decide/deadlines.ts";
import { LookAhead } from "../decide/look-ahead.ts";
import { Pools } from "../decide/pools.ts";
import { PRESSURE_POLICY } from "../decide/pressure.ts";
import { nextDeadline } from "../decide/timeouts.ts";
import { HEARTBEAT_INTERVAL, LEASE_TTL } from "../domain/lease.ts";
import type { DispatchMode } from "../domain/pool.ts";
import { seconds } from "../domain/time.ts";
import { World } from "../domain/world.ts";
import { attemptOf } from "./attempt.ts";
import { Desk } from "./desk.ts";
import { Histories } from "./histories.ts";
import { Keys } from "./keys.ts";
import { Leases } from "./leases.ts";
import { LocalWorkers } from "./local-workers.ts";
import { Lookout } from "./lookout.ts";
import { batchFor, type EngineDeps } from "./options.ts";
import { Roll } from "./roll.ts";
import { SessionReports } from "./session-reports.ts";
import { Signs } from "./signs.ts";
import { Stopper } from "./stopper.ts";
import { Tokens } from "./tokens.ts";
import { TurnRules } from "./turn-rules.ts";
import { Turns } from "./turns.ts";
import { Verdicts } from "./verdicts.ts";
import { Verifier } from "./verifier.ts";

const GRACE = seconds(5);

export type Parts = ReturnType<typeof assemble>;

export function assemble({ store, epoch, clock, secrets, executor, logOf, options }: EngineDeps) {
  const { leaseTtl: ttl = LEASE_TTL, heartbeat = HEARTBEAT_INTERVAL, grace = GRACE, policy = "auto" } = options;
  const { batchMax = batchFor(options.workers.length), ack, pressure } = options;
  const world = new World();
  const pools = new Pools(options, world);
  const signs = new Signs();
  const tokens = new Tokens(secrets);
  const histories = new Histories(store);
  const roll = new Roll(world, pools);
  const modeOf = (pool: string): DispatchMode => options.modes?.[pool] ?? "pull";
  /** Time-outs are longer when there is much to do. */
  const patience = (): number => PRESSURE_POLICY[pools.local.mode].timeoutFactor;
  const deadlines = new Deadlines((_, task) => nextDeadline(task, signs.of(task), patience()));
  const leases = new Leases({
    world,
    signs,
    ttl,
    watch: (run, task) => deadlines.watch(run, task),
    verify: (turn, run, task, work) => verifier.begin(turn, run, task, work),
  });
  const reports = new SessionReports({ leases, signs, tokens });
  const workers = new LocalWorkers({
    executor,
    attemptOf: (run, task) =>
      attemptOf(run, task, { node: (worker) => pools.local.nodeOf(worker).name, log: logOf(run, task) }),
    leases,
    signs,
    now: () => clock.now(),
    take: (input) => turns.take(input),
    verifier: () => verifier,
  });
  const verifier: Verifier = new Verifier({
    leases,
    workers,
    ttl,
    max: Math.max(1, options.workers.length),
    isShut: () => rules.isShut,
  });
  const stopper = new Stopper({ leases, workers, grace });
  const desk = new Desk({ world, pools, leases, tokens, modeOf, ...(ack !== undefined && { ack }) });
  const lookout = new Lookout({ world, pools, workers, leases, signs, stopper, roll, modeOf, patience });
  const keys = new Keys({ store, written: () => turns.durably(() => {}) });
  const verdicts = new Verdicts({ pools, reports, histories, keys });
  const lookAhead = new LookAhead({ dispatcher: pools.local, policy, now: () => clock.now() });
  const rules: TurnRules = new TurnRules({
    world,
    pools,
    lookAhead,
    deadlines,
    leases,
    workers,
    desk,
    lookout,
    verdicts,
    keys,
    ttl,
    heartbeat,
    batchMax,
    pressure,
    schedule: () => turns.schedule(),
  });
  const turns: Turns = new Turns({ world, clock, store, epoch, batchMax, rules });
  return {
    world,
    pools,
    tokens,
    histories,
    roll,
    modeOf,
    leases,
    reports,
    workers,
    verifier,
    stopper,
    desk,
    lookout,
    verdicts,
    keys,
    rules,
    turns,
  };
}
