/** What holds for all requests and all ends: no task is given out twice, out of turn, or against what the dispatcher says about it. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { task } from "../../test/rig/builders.ts";
import { Floor, failure, slots } from "../../test/rig/floor.ts";
import { always } from "../../test/rig/property.ts";
import { overlaps } from "../domain/paths.ts";
import type { Run } from "../domain/run.ts";
import { PRIORITIES, type TaskSpec } from "../domain/spec.ts";
import { isHeld, isTerminal, type Task } from "../domain/task.ts";
import { later, millis, seconds } from "../domain/time.ts";
import { eligible } from "./explain/eligible.ts";
import { waitsOf } from "./explain/explain.ts";
import { PRESSURE_MODES } from "./queue/pressure.ts";

const CAPABILITIES = ["git", "gpu"] as const;
const PATHS = ["src/", "src/a", "src/b", "doc", "**/*.md"] as const;
const RATE = { amount: 30, per: seconds(1) };

const node = fc.record({
  workers: fc.integer({ min: 1, max: 3 }),
  capacity: fc.record({ cpu: fc.integer({ min: 1, max: 6 }), memory: fc.integer({ min: 1, max: 4 }) }),
  capabilities: fc.subarray([...CAPABILITIES]),
});
const spec = fc.record({
  needs: fc.array(fc.nat(), { maxLength: 2 }),
  priority: fc.constantFrom(...PRIORITIES),
  resources: fc.record(
    { cpu: fc.nat(4), memory: fc.nat(3), claude: fc.nat(2), tokens: fc.nat(30) },
    { requiredKeys: [] },
  ),
  requires: fc.subarray([...CAPABILITIES], { maxLength: 1 }),
  reads: fc.subarray([...PATHS], { maxLength: 1 }),
  writes: fc.subarray([...PATHS], { maxLength: 1 }),
  provider: fc.option(fc.constant("api"), { freq: 3, nil: undefined }),
  estimate: fc.option(fc.integer({ min: 1, max: 3_000 }), { nil: undefined }),
});
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("end" as const), pick: fc.nat() }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("fail" as const), pick: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("lose" as const), pick: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("cancel" as const), pick: fc.nat() }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant("pass" as const), pick: fc.integer({ min: 1, max: 70_000 }) }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("outage" as const), pick: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("pressure" as const), pick: fc.nat(3) }) },
);
const plan = fc.record({
  weight: fc.integer({ min: 1, max: 5 }),
  tenant: fc.option(fc.constantFrom("a", "b"), { nil: undefined }),
  specs: fc.array(spec, { minLength: 1, maxLength: 10, size: "max" }),
});
const scenario = fc.record({
  nodes: fc.array(node, { minLength: 1, maxLength: 3 }),
  priorities: fc.constantFrom("shares", "strict"),
  patience: fc.record({ dispatches: fc.integer({ min: 1, max: 6 }), wait: fc.nat(2_000) }),
  plans: fc.array(plan, { minLength: 1, maxLength: 3, size: "max" }),
  steps: fc.array(step, { maxLength: 40, size: "max" }),
});
type Scenario = typeof scenario extends fc.Arbitrary<infer T> ? T : never;

/** Plays a scenario. `look` is asked before every choice and told what was chosen. */
class Play {
  readonly floor: Floor;
  /** What was given out, as `task@worker`, in order. */
  readonly given: string[] = [];
  /** What was taken of each run's rate, and when. */
  readonly uses: { readonly run: Run; readonly at: number; readonly amount: number }[] = [];
  readonly #look: (play: Play, choose: () => Task | undefined) => void;

  constructor({ nodes, priorities, patience, plans }: Scenario, look: Play["look"] = (_, choose) => void choose()) {
    this.#look = look;
    const [first, ...others] = nodes.map(({ workers, ...rest }, at) => ({
      name: `n${at}`,
      workers: slots(workers, `n${at}/`),
      ...rest,
    }));
    this.floor = new Floor({
      priorities,
      patience: { dispatches: patience.dispatches, wait: millis(patience.wait) },
      capacity: first?.capacity ?? {},
      capabilities: first?.capabilities ?? [],
      workers: 0,
      others: [first, ...others].flatMap((each) => each ?? []),
    });
    for (const [no, { weight, tenant, specs }] of plans.entries()) {
      this.floor.submit(
        specs.map((loose, at) => specOf(loose, no, at)),
        {
          weight,
          ...(tenant !== undefined && { tenant }),
          resources: { claude: 2 },
          rates: { tokens: RATE },
        },
      );
    }
  }

  get look() {
    return this.#look;
  }

  round(): void {
    this.floor.age();
    for (let chosen = this.#next(); chosen !== undefined; chosen = this.#next());
  }

  take({ kind, pick }: Scenario["steps"][number]): void {
    const { floor } = this;
    const held = floor.held();
    const chosen = held[pick % Math.max(1, held.length)];
    if (kind === "pass") floor.pass(pick);
    if (kind === "pressure")
      floor.dispatcher.pressure = { mode: PRESSURE_MODES[pick] ?? "normal", queued: 9, depth: 10 };
    if (kind === "outage") this.#outage();
    if (chosen === undefined) return;
    const { run, task: each, worker } = chosen;
    if (kind === "end") floor.end(run, each);
    if (kind === "fail") {
      const notBefore = later(floor.now, millis(pick % 3_000));
      floor.happen(run, each, { kind: "retried", outcome: failure, notBefore, costs: true });
    }
    if (kind === "lose") floor.happen(run, each, { kind: "expired", worker: worker as never, notBefore: floor.now });
    if (kind === "cancel") floor.happen(run, each, { kind: "cancelled", asked: { by: "mo" } });
  }

  /** The service is gone: every task that depends on it fails at once, and again, for as long as tasks are sent to it. */
  #outage(): void {
    const { floor } = this;
    for (let failed = 0; failed < 6; failed++) {
      const hit = floor.held().find(
        ({
          task: {
            spec: { provider },
          },
        }) => provider !== undefined,
      );
      if (hit === undefined) return;
      floor.happen(hit.run, hit.task, { kind: "retried", outcome: failure, notBefore: floor.now, costs: true });
      this.round();
    }
  }

  #next(): Task | undefined {
    let chosen: Task | undefined;
    this.#look(this, () => {
      const next = this.floor.claimNext();
      if (next === undefined) return undefined;
      chosen = next.task;
      this.given.push(`${next.task.spec.id}@${next.worker}`);
      this.uses.push({ run: next.run, at: this.floor.now, amount: next.task.spec.resources.tokens ?? 0 });
      return chosen;
    });
    return chosen;
  }
}

type Loose = Scenario["plans"][number]["specs"][number];

function specOf({ needs, estimate, provider, resources, ...rest }: Loose, plan_: number, at: number): TaskSpec {
  return task(`p${plan_}t${at}`, {
    ...rest,
    resources: Object.fromEntries(Object.entries(resources).filter(([, amount]) => amount !== undefined && amount > 0)),
    needs: at === 0 ? [] : [...new Set(needs.map((need) => `p${plan_}t${need % at}`))],
    ...(estimate !== undefined && { estimate: millis(estimate) }),
    ...(provider !== undefined && { provider }),
  });
}

function playOut(told: Scenario, look?: Play["look"]): Play {
  const play = new Play(told, look);
  play.round();
  for (const each of told.steps) {
    play.take(each);
    play.round();
  }
  return play;
}

const tasksOf = ({ floor }: Play): readonly { readonly run: Run; readonly task: Task }[] =>
  floor.runs.flatMap((run) => run.tasks.map((each) => ({ run, task: each })));

test("no more is out than there is: of workers, of what nodes have, of what plans declare, and of rates in any span of time", async () => {
  await always(
    200,
    fc.property(scenario, (told) => {
      const play = playOut(told, ({ floor }, choose) => {
        choose();
        for (const { free, capacity } of floor.dispatcher.resources()) {
          expect(free).toBeGreaterThanOrEqual(-1e-9);
          expect(free).toBeLessThanOrEqual(capacity);
        }
        const workers = floor.held().map(({ worker }) => worker);
        expect(new Set(workers).size).toBe(workers.length);
        for (const [at, { capacity }] of told.nodes.entries()) {
          const there = floor.held().filter(({ worker }) => worker.startsWith(`n${at}/`));
          for (const name of ["cpu", "memory"] as const) {
            const out = there.reduce((sum, { task: each }) => sum + (each.spec.resources[name] ?? 0), 0);
            expect(out).toBeLessThanOrEqual(capacity[name]);
          }
          for (const { task: each } of there)
            expect(told.nodes[at]?.capabilities).toEqual(expect.arrayContaining([...each.spec.requires]));
        }
        for (const run of floor.runs) {
          const out = floor.held().filter((each) => each.run === run);
          expect(out.reduce((sum, { task: each }) => sum + (each.spec.resources.claude ?? 0), 0)).toBeLessThanOrEqual(
            2,
          );
        }
      });
      for (const run of play.floor.runs) {
        const uses = play.uses.filter((use) => use.run === run);
        for (let from = 0; from < uses.length; from++) {
          let sum = 0;
          for (const { at, amount } of uses.slice(from)) {
            sum += amount;
            const span = at - (uses[from]?.at ?? 0);
            expect(sum).toBeLessThanOrEqual(RATE.amount + (RATE.amount * span) / RATE.per + 1e-6);
          }
        }
      }
    }),
  );
});

test("two tasks that touch the same files are never out at the same time, and no task goes before its needs", async () => {
  const meet = (a: readonly string[], b: readonly string[]): boolean => a.some((x) => b.some((y) => overlaps(x, y)));
  await always(
    200,
    fc.property(scenario, (told) => {
      playOut(told, ({ floor }, choose) => {
        const chosen = choose();
        const held = floor.held();
        for (const [at, { task: one }] of held.entries()) {
          for (const { task: other } of held.slice(at + 1)) {
            expect(meet(one.spec.writes, [...other.spec.writes, ...other.spec.reads])).toBe(false);
            expect(meet(one.spec.reads, other.spec.writes)).toBe(false);
          }
        }
        if (chosen === undefined) return;
        const run = floor.runs.find(({ tasks }) => tasks.includes(chosen));
        for (const need of chosen.spec.needs) {
          expect(run?.tasks.find(({ spec: { id } }) => id === need)?.status.state).toBe("succeeded");
        }
      });
    }),
  );
});

test("every waiting task has one reason; what is said to be about to start may start, and nothing else is given out", async () => {
  await always(
    250,
    fc.property(scenario, (told) => {
      playOut(told, (play, choose) => {
        const { dispatcher, now } = play.floor;
        /** Which tasks are about to start, and on which workers that may be. */
        const about = new Map<Task, readonly string[]>();
        const workers = dispatcher.nodes.flatMap((each) => [...each.workers]);
        for (const { run, task: each } of tasksOf(play)) {
          const wait = waitsOf(dispatcher, run, now)(each);
          const { state } = each.status;
          const isWaiting = !isHeld(each.status) && !isTerminal(state);
          expect(wait !== undefined).toBe(isWaiting);
          const isAbout = wait?.reason === "capacity" && wait.idle > 0;
          const mayTake = workers.filter((worker) => eligible(dispatcher, run, each, worker, now).ok);
          if (isAbout) about.set(each, mayTake);
          expect(mayTake.length > 0).toBe(isAbout);
          expect(eligible(dispatcher, run, each, undefined, now).ok).toBe(isAbout);
        }
        const chosen = choose();
        expect(chosen === undefined).toBe(about.size === 0);
        if (chosen === undefined) return;
        const { status } = chosen;
        expect(about.get(chosen)).toContain(isHeld(status) ? status.lease.worker : "no worker");
      });
    }),
  );
});

test("the same things happening give the same choices", async () => {
  await always(
    150,
    fc.property(scenario, (told) => {
      expect(playOut(told).given).toEqual(playOut(told).given);
    }),
  );
});
