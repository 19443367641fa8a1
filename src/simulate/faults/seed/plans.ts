/** Plans by seed: graphs, resources, rates, files, pools, priorities, retries, gates and time-outs, so scarce that tasks compete. */
import { runId, taskId } from "../../../domain/ids.ts";
import type { RunManifest } from "../../../domain/run.ts";
import type { SessionProfile } from "../../../domain/sessions/session.ts";
import { type Amounts, PRIORITIES, RETRY_DEFAULT, SPEC_DEFAULTS, type TaskSpec } from "../../../domain/spec.ts";
import { instant, type Millis, millis, seconds } from "../../../domain/time.ts";
import type { Chance } from "./chance.ts";

export interface PlanDraft {
  readonly manifest: RunManifest;
  readonly specs: readonly TaskSpec[];
  /** When it is submitted, counted from the start. */
  readonly after: Millis;
}

/** What the tasks of a plan may ask for. */
export interface PlanMeans {
  readonly pools: readonly string[];
  readonly workspaces: readonly string[];
  /** Names of sessions, one of which some tasks ask for. */
  readonly sessions: readonly Pick<SessionProfile, "id" | "pool" | "workspace">[];
}

export const CAPABILITIES = ["code", "review"] as const;
export const CAPACITY: Amounts = { cpu: 3_000, gpu: 1 };

/** How rich a plan is: not every plan has every feature, so that each feature is also seen alone. */
interface Taste {
  readonly density: number;
  readonly resources: boolean;
  readonly files: boolean;
  readonly rates: boolean;
  readonly gates: boolean;
  readonly retries: boolean;
  readonly limits: boolean;
  readonly demands: boolean;
  readonly outside: number;
}

export function planDraft(chance: Chance, no: number, means: PlanMeans, tasks: number): PlanDraft {
  const taste: Taste = {
    density: chance.next(),
    resources: chance.flip(0.5),
    files: chance.flip(0.4),
    rates: chance.flip(0.3),
    gates: chance.flip(0.25),
    retries: chance.flip(0.7),
    limits: chance.flip(0.5),
    demands: chance.flip(0.3),
    outside: means.pools.length === 0 ? 0 : chance.pick([0, 0.5, 0.8, 1]),
  };
  const isChain = chance.fork("chain").flip(0.2);
  const specs: TaskSpec[] = [];
  for (let at = 0; at < tasks; at++) {
    const own = chance.fork(`task ${at}`);
    specs.push(isChain ? linkOf(own, at, taste) : specOf(own, at, taste, means));
  }
  const manifest: RunManifest = {
    id: runId(`run-${no}`),
    name: `plan-${chance.whole(1, 2)}`,
    submittedAt: instant(0),
    directory: chance.pick(["/plan", "/plan", "/other"]),
    file: "plan.yaml",
    digest: "",
    seed: chance.whole(0, 1_000_000),
    resources: taste.resources ? { claude: chance.whole(1, 3) } : {},
    ...(taste.rates && { rates: { tokens: { amount: 10, per: seconds(chance.pick([10, 60])) } } }),
    ...(chance.flip(0.3) && { weight: chance.whole(1, 4) }),
    carried: [],
  };
  return { manifest, specs, after: millis(no === 1 ? 0 : chance.whole(0, 60_000)) };
}

function specOf(chance: Chance, at: number, taste: Taste, means: PlanMeans): TaskSpec {
  const before = (odds: number): TaskSpec["needs"] =>
    Array.from({ length: Math.min(at, 4) }, (_, back) => taskId(`t${at - 1 - back}`)).filter(() => chance.flip(odds));
  const isOutside = chance.flip(taste.outside);
  return {
    ...SPEC_DEFAULTS,
    id: taskId(`t${at}`),
    run: { argv: ["true"] },
    needs: before(taste.density * 0.5),
    after: before(0.05),
    onFailure: chance.flip(0.2) ? "continue" : "skip",
    priority: chance.flip(0.5) ? "normal" : chance.pick(PRIORITIES),
    ...demandsOf(chance, taste),
    ...limitsOf(chance, taste),
    ...(isOutside && poolsOf(chance, taste, means)),
    ...(taste.gates && chance.flip(0.3) && { gate: "sure?" }),
    ...(chance.flip(0.3) && { estimate: chance.span(500, 60_000) }),
    ...(chance.flip(0.15) && { provider: "service" }),
    ...(chance.fork("verify").flip(0.15) && { verify: { argv: ["true"] } }),
    ...keyOf(chance.fork("key")),
  };
}

/** Few keys, so that tasks of several plans share one. */
const keyOf = (chance: Chance): Pick<TaskSpec, "idempotencyKey"> =>
  chance.flip(0.15) ? { idempotencyKey: `key-${chance.whole(1, 4)}` } : {};

/** A task of a chain that asks for nothing else: the next task is known before it may start. */
function linkOf(chance: Chance, at: number, taste: Taste): TaskSpec {
  const needs = at === 0 ? [] : [taskId(`t${at - 1}`)];
  const onFailure = chance.flip(0.5) ? "continue" : "skip";
  return {
    ...SPEC_DEFAULTS,
    id: taskId(`t${at}`),
    run: { argv: ["true"] },
    needs,
    onFailure,
    ...limitsOf(chance, taste),
  };
}

function demandsOf(chance: Chance, taste: Taste): Pick<TaskSpec, "resources" | "reads" | "writes"> {
  const asked: readonly Amounts[] = [{}, { cpu: 1_000 }, { cpu: 2_000, claude: 1 }, { gpu: 1 }, { claude: 1 }];
  const resources = taste.resources ? chance.pick(asked) : {};
  const tokens: Amounts = taste.rates && chance.flip(0.6) ? { tokens: chance.whole(1, 8) } : {};
  const writes: readonly (readonly string[])[] = [[], [], ["src/"], ["src/a"], ["doc"]];
  const reads: readonly (readonly string[])[] = [[], [], ["src/"], ["doc/x"], ["**"]];
  return {
    resources: { ...resources, ...tokens },
    writes: taste.files ? chance.pick(writes) : [],
    reads: taste.files ? chance.pick(reads) : [],
  };
}

/** Everything ends at some time: an attempt that hangs is killed within minutes. */
function limitsOf(chance: Chance, taste: Taste): Pick<TaskSpec, "retry" | "timeout" | "progress"> {
  const attempts = taste.retries ? chance.whole(1, 4) : 1;
  const retry = { ...RETRY_DEFAULT, attempts, backoff: chance.span(100, 20_000), max: seconds(60) };
  const hard = chance.span(30_000, 180_000);
  const soft = chance.span(5_000, 60_000);
  const hasSoft = taste.limits && chance.flip(0.4);
  return {
    retry: { ...retry, on: chance.flip(0.1) ? [1] : [] },
    timeout: hasSoft ? { soft, hard } : { hard },
    ...(taste.limits && chance.flip(0.3) && { progress: chance.span(2_000, 30_000) }),
  };
}

function poolsOf(chance: Chance, taste: Taste, means: PlanMeans): Partial<TaskSpec> {
  const pool = chance.pick(means.pools);
  const owners = means.sessions.filter((each) => each.pool === pool);
  const owner = owners.length > 0 && chance.flip(0.08) ? chance.pick(owners) : undefined;
  const run = { prompt: "do it" };
  // A task for a single session must be within what this session can do.
  if (owner !== undefined) {
    return { pool, run, session: owner.id, ...(owner.workspace !== undefined && { workspace: owner.workspace }) };
  }
  const workspace = means.workspaces.length > 0 && chance.flip(0.3) ? { workspace: chance.pick(means.workspaces) } : {};
  const requires = taste.demands && chance.flip(0.5) ? [chance.pick(CAPABILITIES)] : [];
  return { pool, run, requires, ...workspace };
}
