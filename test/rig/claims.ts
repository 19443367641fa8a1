/** Random histories with sessions: they join, claim, report rightly and wrongly, and leave, while people, time and crashes do their part. */
import fc from "fast-check";
import type { Run } from "../../src/domain/run.ts";
import { PRIORITIES, type TaskSpec } from "../../src/domain/spec.ts";
import { millis, seconds } from "../../src/domain/time.ts";
import type { PauseScope } from "../../src/domain/waiting/pause.ts";
import type { LeaseGrant } from "../../src/engine/sessions/claim.ts";
import type { WakeScheduler } from "../../src/engine/wake/wake-scheduler.ts";
import type { Store } from "../../src/store/store.ts";
import { task } from "./builders.ts";
import { openRig, type Rig } from "./rig.ts";
import { BACK, BEAT, Bell, cycleOf, DONE, FAILED, profile, proofOf, refusal } from "./sessions.ts";

const NAMES = "abcdefghijkl";
const IDS = ["s1", "s2", "s3", "s4"] as const;
const POOLS = ["pull", "push", "both"] as const;
export const PLAN_RESOURCES = { claude: 2 };

export type Step = { readonly kind: (typeof STEPS)[number]; readonly pick: number; readonly other: number };
const STEPS = [
  ...["join", "join", "claim", "claim", "claim", "key", "exact", "wait", "assignment", "report", "report", "report"],
  ...["report", "forge", "beat", "leave", "time", "time", "cycle", "cycle", "pause", "resume", "edit", "cancel"],
  ...["requeue", "starts", "ends", "crash"],
] as const;

export interface Scenario {
  readonly specs: readonly TaskSpec[];
  readonly steps: readonly Step[];
}

const looseTask = fc.record({
  pool: fc.constantFrom(undefined, ...POOLS, "pull" as const),
  needs: fc.array(fc.nat(), { maxLength: 2 }),
  priority: fc.constantFrom(...PRIORITIES),
  resources: fc.constantFrom({}, {}, { claude: 1 }, { claude: 2 }, { tokens: 3 }),
  writes: fc.constantFrom([], [], ["src/"], ["src/a"], ["doc"]),
  reads: fc.constantFrom([], [], ["src/"]),
  requires: fc.constantFrom([], [], ["gpu"]),
  attempts: fc.integer({ min: 1, max: 3 }),
  hard: fc.constantFrom(seconds(40), seconds(3_600)),
});

export const scenarios = (stepsMax = 60): fc.Arbitrary<Scenario> =>
  fc.record({
    specs: fc.array(looseTask, { minLength: 1, maxLength: 10, size: "max" }).map((all) => all.map(toSpec)),
    steps: fc.array(fc.record({ kind: fc.constantFrom(...STEPS), pick: fc.nat(999), other: fc.nat(999) }), {
      maxLength: stepsMax,
      size: "max",
    }),
  });

type LooseTask = typeof looseTask extends fc.Arbitrary<infer T> ? T : never;
function toSpec({ pool, needs, attempts, hard, ...rest }: LooseTask, at: number): TaskSpec {
  return task(NAMES[at] as string, {
    ...rest,
    needs: at === 0 ? [] : needs.map((need) => NAMES[need % at] as string),
    requires: pool === undefined ? [] : rest.requires,
    ...(pool !== undefined && { pool }),
    retry: { attempts, backoff: millis(1_000) },
    timeout: { hard },
  });
}

/** A world with sessions, as far as it has been played. */
export class Played {
  readonly rig: Rig;
  run!: Run;
  cycle!: WakeScheduler;
  readonly bell = new Bell();
  /** Everything that was ever given out to sessions. */
  readonly grants: LeaseGrant[] = [];
  /** What each key has led to. */
  readonly keys = new Map<string, LeaseGrant>();
  readonly broken: string[] = [];

  constructor(rig: Rig) {
    this.rig = rig;
  }

  boot(run: Run): void {
    this.run = run;
    this.rig.engine.failed.catch((error: unknown) => this.broken.push(`the engine has failed: ${String(error)}`));
    this.cycle = cycleOf(this.rig, this.bell, {
      starvingAge: seconds(30),
      ladder: { fanOut: 1, spawn: 2, event: 2, park: 4 },
    });
  }
}

export async function play(
  { specs, steps }: Scenario,
  store?: Store,
  check: (played: Played) => Promise<void> | void = () => {},
): Promise<Played> {
  const modes = { push: "push", both: "hybrid" } as const;
  const played = new Played(await openRig({ workers: 2, modes, ...(store && { store }) }));
  const rates = { tokens: { amount: 5, per: seconds(60) } };
  played.boot(await played.rig.submit(specs, { resources: PLAN_RESOURCES, rates }));
  for (const step of steps) {
    await happen(played, step);
    await played.rig.clock.settle();
    await check(played);
  }
  return played;
}

const chosen = <T>(from: readonly T[], which: number): T | undefined => from[which % Math.max(1, from.length)];

async function happen(played: Played, { kind, pick, other }: Step): Promise<void> {
  const { rig, run, cycle } = played;
  const { api } = rig.engine;
  const session = chosen(IDS, pick) as string;
  const asked = { by: "mo" };
  const tried = (promise: Promise<unknown>): Promise<string> => refusal(rig.promised(promise));
  const anyTask = chosen(run.tasks, other);
  const living = rig.machine.processes.filter(({ alive }) => alive);
  switch (kind) {
    case "join": {
      const pool = chosen(POOLS, pick) as string;
      const capabilities = other % 2 === 0 ? [] : ["gpu"];
      await tried(api.join(profile(session, { pool, capabilities, slots: 1 + (other % 2), ttl: seconds(30) })));
      return;
    }
    case "claim":
      return gave(played, api.claim({ session, wait: millis(0) }));
    case "wait":
      return gave(played, api.claim({ session, wait: seconds(20) }), false);
    case "assignment":
      return gave(played, api.assignment({ session, wait: millis(0) }));
    case "exact":
      if (anyTask === undefined) return;
      return gave(played, api.claim({ session, run: run.manifest.id, task: anyTask.spec.id, wait: millis(0) }));
    case "key":
      return gaveByKey(played, session, `k${other % 3}`);
    case "report":
    case "forge": {
      const granted = chosen(played.grants, other);
      if (granted === undefined) return;
      const word = chosen([BEAT, BEAT, DONE, FAILED, BACK, { kind: "progress", note: "on it" } as const], pick) ?? BEAT;
      const proof = kind === "forge" ? { ...proofOf(granted), token: `${granted.token.slice(1)}x` } : proofOf(granted);
      const said = await tried(api.report(proof, word));
      if (kind === "forge" && said !== "TOKEN_WRONG") played.broken.push(`a forged token was answered with ${said}`);
      return;
    }
    case "beat":
      await tried(api.beat(session, chosen(["idle", "prompting", "busy", undefined] as const, other)));
      return;
    case "leave":
      await tried(api.leave(session, "enough"));
      return;
    case "time":
      return rig.clock.advance(chosen([1, 1_000, 9_000, 31_000, 130_000], other) as number);
    case "cycle":
      await rig.promised(cycle.runOnce());
      return;
    case "pause":
      await rig.promised(api.hold(scopeOf(run, pick, other), asked));
      return;
    case "resume":
      for (const { scope } of [...rig.engine.world.pauses.values()]) await rig.promised(api.letGo(scope, asked));
      return;
    case "edit":
      if (anyTask === undefined) return;
      await tried(api.edit(run, anyTask, { priority: "high", title: `edited ${pick}` }, asked));
      return;
    case "cancel":
    case "requeue":
      if (anyTask !== undefined && (kind === "requeue" || pick % 3 === 0))
        await rig.ask({ kind, run: run.manifest.id, task: anyTask.spec.id });
      return;
    case "starts":
      chosen(living, pick)?.starts();
      return;
    case "ends":
      chosen(living, pick)?.succeeds();
      return;
    case "crash":
      return crash(played, pick);
  }
}

function scopeOf(run: Run, pick: number, other: number): PauseScope {
  const no = chosen(run.tasks, other)?.no;
  const scopes: readonly PauseScope[] = [
    { of: "scheduler" },
    { of: "pool", pool: chosen([...POOLS, "local"], other) as string },
    { of: "run", run: run.no },
    { of: "task", run: run.no, task: no as never },
  ];
  return chosen(scopes, pick) as PauseScope;
}

/** Notes what is given out; who waits is not waited for. */
async function gave(played: Played, claim: Promise<LeaseGrant | undefined>, waits = true): Promise<void> {
  const noted = claim.then(
    (granted) => void (granted !== undefined && played.grants.push(granted)),
    () => {},
  );
  await (waits ? played.rig.promised(noted) : played.rig.clock.settle());
}

async function gaveByKey(played: Played, session: string, key: string): Promise<void> {
  const name = `${session} ${key}`;
  const known = played.keys.get(name);
  const { api } = played.rig.engine;
  const granted = await played.rig.promised(api.claim({ session, key, wait: millis(0) }).catch(() => undefined));
  if (granted === undefined) return;
  if (known === undefined) played.grants.push(granted);
  played.keys.set(name, known ?? granted);
  const isSame =
    known === undefined ||
    (known.task.spec.id === granted.task.spec.id && known.fence === granted.fence && known.token === granted.token);
  if (!isSame) played.broken.push(`key ${name} gave ${granted.task.spec.id} after ${known.task.spec.id}`);
}

async function crash(played: Played, pick: number): Promise<void> {
  const { rig, run } = played;
  rig.crash();
  if (pick % 2 === 0) rig.machine.loseAll();
  await rig.clock.advance(pick % 3 === 0 ? 40_000 : 10);
  played.boot(await rig.resume(run.no));
}

/** Lets everything go well from here on: nothing is on hold, those come who can do everything, and all succeeds. */
export async function bringToAnEnd(played: Played): Promise<void> {
  const { rig, run } = played;
  const { api } = rig.engine;
  for (let rounds = 0; rounds < 12 * run.tasks.length && run.status.state !== "finished"; rounds++) {
    for (const { scope } of [...rig.engine.world.pauses.values()]) await rig.promised(api.letGo(scope, { by: "mo" }));
    for (const process of rig.machine.processes) {
      if (!process.alive) continue;
      if (process.stops.length > 0) process.obeys();
      else process.starts().succeeds();
    }
    await rig.clock.settle();
    for (const pool of POOLS) {
      await rig.promised(api.join(profile(`able-${pool}`, { pool, capabilities: ["gpu"], ttl: seconds(30) })));
      await worksOnce(rig, pool);
    }
    if (run.status.state === "stalled") await rig.ask({ kind: "requeue", run: run.manifest.id });
    await rig.clock.advance(15_000);
    await rig.promised(played.cycle.runOnce());
  }
}

async function worksOnce(rig: Rig, pool: string): Promise<void> {
  const { api } = rig.engine;
  const session = `able-${pool}`;
  const wanted = { session, wait: millis(0) };
  const granted = await rig.promised(pool === "push" ? api.assignment(wanted) : api.claim(wanted));
  if (granted !== undefined) await rig.promised(api.report(proofOf(granted), DONE));
}
