/** Everything that a seed decides before the simulation begins. The limits make it smaller, to find the smallest case that fails. */
import type { Policy } from "../../../decide/order/look-ahead.ts";
import { type WorkerId, workerId } from "../../../domain/ids.ts";
import { DISPATCH_MODES, type DispatchMode } from "../../../domain/sessions/pool.ts";
import type { SessionProfile } from "../../../domain/sessions/session.ts";
import { type Millis, millis, seconds } from "../../../domain/time.ts";
import { Chance } from "./chance.ts";
import { type FaultKind, type Faults, faultsOf } from "./fault-kinds.ts";
import { CAPABILITIES, type PlanDraft, planDraft } from "./plans.ts";

export interface Scenario {
  readonly seed: number;
  readonly store: StoreKind;
  readonly faults: Faults;
  /** For how long faults happen. */
  readonly span: Millis;
  readonly plans: readonly PlanDraft[];
  readonly sessions: readonly SessionDraft[];
  readonly modes: Readonly<Record<string, DispatchMode>>;
  readonly workers: readonly WorkerId[];
  readonly settings: Settings;
}

export interface SessionDraft {
  readonly profile: SessionProfile;
  /** Waits for a wake instead of asking again and again. */
  readonly listens: boolean;
  /** Gives its claims keys, so that it can repeat them. */
  readonly names: boolean;
  /** Gives signs of life at the last possible moment. */
  readonly isPunctual: boolean;
  /** From the start to joining. */
  readonly after: Millis;
}

export interface Settings {
  readonly leaseTtl: Millis;
  readonly heartbeat: Millis;
  readonly ack: Millis;
  readonly grace: Millis;
  readonly policy: Policy;
  readonly offer: Millis;
  readonly cooldown: Millis;
  readonly starvingAge: Millis;
  readonly isPressed: boolean;
  /** How many batches wait before one is handed to the disk while it is at work. */
  readonly batchMax: number;
}

/** The limits on a scenario. Without any, nothing is left out. */
export interface Limits {
  /** In memory by default. */
  readonly store?: StoreKind;
  /** Only this many tasks of each plan. */
  readonly tasks?: number;
  /** Only this many plans. */
  readonly plans?: number;
  readonly sessions?: number;
  readonly without?: readonly FaultKind[];
  readonly span?: Millis;
}

/** The stores of a simulation: in memory, where everything stays, or the real one on a drive that fails. */
export const STORE_KINDS = ["memory", "sqlite"] as const;
export type StoreKind = (typeof STORE_KINDS)[number];

export function scenarioOf(seed: number, limits: Limits = {}): Scenario {
  const chance = new Chance(seed);
  const size = chance.fork("size");
  const pools = size.flip(0.75) ? ["agents", "reviewers"].slice(0, size.whole(1, 2)) : [];
  const workspaces = size.flip(0.2) ? ["here", "there"] : [];
  const sessions = pools.length === 0 ? [] : crewOf(chance.fork("sessions"), pools, workspaces);
  const means = { pools, workspaces, sessions: sessions.map(({ profile }) => profile) };
  const count = size.whole(1, 3);
  const tasksMax = size.pick([4, 8, 14]);
  const plans = Array.from({ length: Math.min(count, limits.plans ?? count) }, (_, at) => {
    const own = chance.fork(`plan ${at}`);
    return planDraft(own, at + 1, means, Math.min(own.whole(1, tasksMax), limits.tasks ?? tasksMax));
  });
  const drawn = faultsOf(chance.fork("faults"));
  const faults = Object.fromEntries(
    Object.entries(drawn).filter(([kind]) => !(limits.without ?? []).includes(kind as FaultKind)),
  );
  const span = size.span(20_000, 240_000);
  return {
    seed,
    store: limits.store ?? "memory",
    faults,
    span: millis(Math.min(span, limits.span ?? span)),
    plans,
    sessions: sessions.slice(0, limits.sessions ?? sessions.length),
    modes: Object.fromEntries(pools.map((pool) => [pool, size.pick([...DISPATCH_MODES, "pull"] as const)])),
    workers: Array.from({ length: size.whole(1, 4) }, (_, at) => workerId(`local/${at + 1}`)),
    settings: settingsOf(chance.fork("settings")),
  };
}

function crewOf(chance: Chance, pools: readonly string[], workspaces: readonly string[]): readonly SessionDraft[] {
  return Array.from({ length: chance.whole(1, 5) }, (_, at) => {
    const workspace = workspaces.length > 0 && chance.flip(0.5) ? { workspace: chance.pick(workspaces) } : {};
    return {
      profile: {
        id: workerId(`s${at + 1}`),
        agent: "agent",
        pool: at < pools.length ? (pools[at] as string) : chance.pick(pools),
        capabilities: chance.flip(0.5) ? [...CAPABILITIES] : [chance.pick(CAPABILITIES)],
        slots: chance.pick([1, 1, 1, 2, 3]),
        ttl: chance.span(3_000, 60_000),
        ...workspace,
      },
      listens: chance.flip(0.4),
      names: chance.flip(0.7),
      isPunctual: chance.flip(0.2),
      after: millis(chance.whole(0, 10_000)),
    };
  });
}

function settingsOf(chance: Chance): Settings {
  const leaseTtl = chance.span(3_000, 30_000);
  return {
    leaseTtl,
    heartbeat: millis(Math.floor(leaseTtl / 4)),
    ack: chance.span(1_000, 10_000),
    grace: chance.span(100, 5_000),
    policy: chance.pick(["plain", "plain", "auto", "rollout"]),
    offer: chance.span(2_000, 30_000),
    cooldown: chance.pick([millis(0), seconds(5), seconds(60)]),
    starvingAge: chance.span(5_000, 120_000),
    isPressed: chance.flip(0.15),
    batchMax: chance.pick([1, 2, 5, 100]),
  };
}
