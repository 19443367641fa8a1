/** Puts the engine together: gives each part what it needs, and nothing more. */
import { LookAhead } from "../decide/order/look-ahead.ts";
import { Pools } from "../decide/pools.ts";
import { HEARTBEAT_INTERVAL, LEASE_TTL } from "../domain/lease.ts";
import type { Run } from "../domain/run.ts";
import type { DispatchMode } from "../domain/sessions/pool.ts";
import { World } from "../domain/world.ts";
import { batchFor, type EngineDeps } from "./options.ts";
import { Requests } from "./requests.ts";
import { ClaimService } from "./sessions/claim-service.ts";
import { Keys } from "./sessions/keys.ts";
import { Refusals } from "./sessions/refusals.ts";
import { SessionRegistry } from "./sessions/session-registry.ts";
import { SessionReports } from "./sessions/session-reports.ts";
import { Tokens } from "./sessions/tokens.ts";
import type { Turn } from "./turn/turn.ts";
import { TurnRules } from "./turn/turn-rules.ts";
import { Turns } from "./turn/turns.ts";
import { Recovery } from "./work/recovery.ts";
import { RunJudge } from "./work/run-judge.ts";
import { assembleWork } from "./work/work.ts";

export type Parts = ReturnType<typeof assemble>;

export function assemble(deps: EngineDeps) {
  const { store, epoch, clock, secrets, options } = deps;
  const { leaseTtl: ttl = LEASE_TTL, heartbeat = HEARTBEAT_INTERVAL, policy = "auto" } = options;
  const { batchMax = batchFor(options.workers.length), ack, pressure, tellsWorkers = false } = options;
  const world = new World();
  const pools = new Pools(options, world);
  const tokens = new Tokens(secrets);
  const registry = new SessionRegistry(world, pools);
  const modeOf = (pool: string): DispatchMode => options.modes?.[pool] ?? "pull";
  const work = assembleWork({
    ...deps,
    world,
    pools,
    registry,
    ttl,
    modeOf,
    take: (input) => turns.take(input),
    isShut: () => rules.isShut,
  });
  const { deadlines, leases, signs, workers, deadlineWatcher, stopper } = work;
  const refusals = new Refusals((task) => pools.of(task).roster?.suited(task.spec) ?? []);
  const reports = new SessionReports({ leases, signs, tokens, refusals });
  const claimService = new ClaimService({
    world,
    pools,
    leases,
    tokens,
    refusals,
    modeOf,
    ...(ack !== undefined && { ack }),
  });
  const keys = new Keys({ store, written: () => turns.durably(() => {}) });
  const runJudge = new RunJudge({ pools, reports, keys });
  const lookAhead = new LookAhead({ dispatcher: pools.local, policy, now: () => clock.now() });
  const rules: TurnRules = new TurnRules({
    world,
    pools,
    lookAhead,
    deadlines,
    leases,
    workers,
    claimService,
    deadlineWatcher,
    runJudge,
    keys,
    ttl,
    heartbeat,
    batchMax,
    tellsWorkers,
    pressure,
    schedule: () => turns.schedule(),
  });
  const turns: Turns = new Turns({ world, clock, store, epoch, batchMax, rules });
  const reopen = ({ pending, now }: Turn, run: Run): void =>
    pending.ofRun(run.no, { kind: "run_reopened", epoch }, now);
  const { breakers } = pools.local;
  const recovery = new Recovery({
    ...work,
    store,
    clock,
    world,
    pools,
    breakers,
    keys,
    rules,
    turns,
    reopen,
  });
  const requests = new Requests({ store, world, stopper, turns, rules, reopen });
  return {
    world,
    pools,
    tokens,
    registry,
    modeOf,
    workers,
    stopper,
    reports,
    claimService,
    deadlineWatcher,
    runJudge,
    keys,
    rules,
    turns,
    reopen,
    recovery,
    requests,
  };
}
