import { describe, expect, test } from "vitest";
import { run as newRun, task } from "../../../test/rig/builders.ts";
import { START } from "../../../test/rig/clock.ts";
import { Floor, failure } from "../../../test/rig/floor.ts";
import type { RunManifest } from "../../domain/run.ts";
import type { Amounts, TaskSpec } from "../../domain/spec.ts";
import { later, millis, seconds } from "../../domain/time.ts";
import { Fairness } from "./fairness.ts";

const many = (name: string, count: number, rest: Partial<TaskSpec> = {}): readonly TaskSpec[] =>
  Array.from({ length: count }, (_, at) => task(`${name}${at}`, { ...rest, needs: [], after: [], retry: {} }));

/** How many tasks of each run are held. */
const outOf = (floor: Floor): readonly number[] => floor.runs.map((run) => run.counts.claimed + run.counts.running);

/** Every task takes a second, as if all were started at once and ended at once. Gives how many each run has had. */
function serve(floor: Floor, rounds: number): readonly number[] {
  const had = floor.runs.map(() => 0);
  for (let round = 0; round < rounds; round++) {
    floor.round();
    for (const [at, count] of outOf(floor).entries()) had[at] = (had[at] ?? 0) + count;
    floor.pass(1_000);
    for (const { run, task: each } of floor.held()) floor.end(run, each);
  }
  return had;
}

describe("runs that share", () => {
  test("get what their weights say", () => {
    const floor = new Floor({ workers: 10 });
    floor.submit(many("a", 400), { weight: 3 });
    floor.submit(many("b", 400), { weight: 1 });
    expect(serve(floor, 20)).toEqual([150, 50]);
  });

  test("are charged for time, not for starts: long tasks are not a way to get more", () => {
    const floor = new Floor({ workers: 2 });
    const long = floor.submit(many("long", 50));
    const short = floor.submit(many("short", 500));
    let [longMs, shortMs] = [0, 0];
    for (let tick = 0; tick < 300; tick++) {
      floor.round();
      floor.pass(100);
      for (const { run, task: each } of floor.held()) {
        if (run === long) longMs += 100;
        else shortMs += 100;
        const { since } = each.status as { since: number };
        if (run === short || floor.now - since >= 1_000) floor.end(run, each);
      }
    }
    expect(longMs / (longMs + shortMs)).toBeCloseTo(0.5, 1);
  });

  test("get equal parts of what they want most: the worked example of dominant resource fairness", () => {
    const floor = new Floor({ workers: 64, capacity: { cpu: 9, memory: 18 } });
    floor.submit(many("a", 20, { resources: { cpu: 1, memory: 4 } }));
    floor.submit(many("b", 20, { resources: { cpu: 3, memory: 1 } }));
    floor.round();
    expect(outOf(floor)).toEqual([3, 2]);
  });

  test("are not charged for what only they have", () => {
    const floor = new Floor({ workers: 4 });
    floor.submit(many("a", 100, { resources: { claude: 1 } }), { resources: { claude: 2 } });
    floor.submit(many("b", 100));
    expect(serve(floor, 20)).toEqual([40, 40]);
  });

  test("who had nothing to do for a while, or was new, does not get what it missed", () => {
    const floor = new Floor({ workers: 4 });
    floor.submit(many("a", 400));
    serve(floor, 25);
    floor.submit(many("b", 400));
    expect(serve(floor, 10)).toEqual([20, 20]);
  });

  test("who was alone for a while does not pay for it", () => {
    const floor = new Floor({ workers: 4 });
    const first = floor.submit(many("a", 100));
    serve(floor, 25);
    floor.dispatcher.dismiss(first);
    floor.submit(many("b", 400));
    serve(floor, 2);
    floor.submit(many("c", 400));
    expect(serve(floor, 10).slice(1)).toEqual([20, 20]);
  });

  test("who was alone for a while does not pay for it when they come back", () => {
    const floor = new Floor({ workers: 4 });
    const first = floor.submit(many("a", 400));
    const later_ = first.tasks.slice(100);
    for (const each of later_) floor.happen(first, each, { kind: "parked", reason: "attention" });
    serve(floor, 25);
    // No run is there when the second one begins, and it begins where the first one stopped.
    floor.submit(many("b", 400));
    serve(floor, 5);
    for (const each of later_) floor.happen(first, each, { kind: "requeued", asked: { by: "mo" } });
    expect(serve(floor, 10)).toEqual([20, 20]);
  });

  test("who could do only one thing at a time by its own rules does not catch up when it can do more", () => {
    const floor = new Floor({ workers: 4 });
    const first = floor.submit([...many("one", 60, { resources: { license: 1 } }), ...many("free", 100)], {
      resources: { license: 1 },
    });
    floor.submit(many("b", 400));
    const free = first.tasks.slice(60);
    for (const each of free) floor.happen(first, each, { kind: "parked", reason: "attention" });
    expect(serve(floor, 20)).toEqual([20, 60]);
    for (const each of free) floor.happen(first, each, { kind: "requeued", asked: { by: "mo" } });
    const [more = 0] = serve(floor, 10);
    expect(Math.abs(more - 20)).toBeLessThanOrEqual(2);
  });

  test("who stands in their own way does not save it up", () => {
    const floor = new Floor({ workers: 4 });
    const one: Amounts = { license: 1 };
    floor.submit([...many("a", 20, { resources: one, priority: "normal" }), ...many("free", 100)], {
      resources: { license: 1 },
    });
    // Tasks with a license come first by the order of the plan, but only one of them at a time.
    floor.submit(many("b", 400));
    const [first = 0, second = 0] = serve(floor, 20);
    expect(Math.abs(first - second)).toBeLessThanOrEqual(4);
    const again = serve(floor, 10);
    expect(Math.abs((again[0] ?? 0) - (again[1] ?? 0))).toBeLessThanOrEqual(4);
  });

  test("who backs off does not save it up either", () => {
    const floor = new Floor({ workers: 4 });
    const run = floor.submit(many("a", 100));
    floor.submit(many("b", 400));
    floor.round();
    for (const each of run.tasks.slice(2)) floor.happen(run, each, { kind: "parked", reason: "attention" });
    for (const { task: each } of floor.held().filter((held) => held.run === run)) {
      floor.happen(run, each, {
        kind: "retried",
        outcome: failure,
        notBefore: later(floor.now, seconds(20)),
        costs: true,
      });
    }
    serve(floor, 20);
    for (const each of run.tasks.slice(2)) floor.happen(run, each, { kind: "requeued", asked: { by: "mo" } });
    expect(serve(floor, 10)).toEqual([20, 20]);
  });

  test("what is large is not passed over for ever by what is small: room is kept once its run is owed a whole task", () => {
    const floor = new Floor({ workers: 16, capacity: { cpu: 8 } });
    floor.submit(many("big", 50, { resources: { cpu: 6 } }));
    floor.submit(many("small", 4_000, { resources: { cpu: 1 } }));
    // Small tasks end one by one, so that six cores are never free together by chance.
    let bigTicks = 0;
    for (let tick = 0; tick < 600; tick++) {
      floor.round();
      floor.pass(125);
      const held = floor.held();
      bigTicks += 6 * held.filter(({ run }) => run === floor.runs[0]).length;
      for (const { run, task: each } of held) {
        const { since } = each.status as { since: number };
        const isBig = run === floor.runs[0];
        if (floor.now - since >= (isBig ? 1_000 : 1_000 - (each.no % 8) * 125)) floor.end(run, each);
      }
    }
    expect(bigTicks / (600 * 8)).toBeGreaterThan(0.4);
  });
});

describe("tenants", () => {
  const rest = (tenant: string, weight = 1): Partial<RunManifest> => ({ tenant, weight });

  test("share evenly, however many runs each has, and the runs of one share by weight", () => {
    const floor = new Floor({ workers: 8 });
    floor.submit(many("a", 400), rest("ada", 3));
    floor.submit(many("b", 400), rest("ada", 1));
    floor.submit(many("c", 400), rest("mo"));
    expect(serve(floor, 20)).toEqual([60, 20, 80]);
  });

  test("a new run starts where those of its own tenant are, not where another's are", () => {
    const floor = new Floor({ workers: 8 });
    floor.submit(many("a", 800), rest("ada"));
    const light = floor.submit(many("b", 2), rest("mo"));
    serve(floor, 20);
    expect(light.counts.succeeded).toBe(2);
    floor.submit(many("c", 800), rest("ada"));
    const had = serve(floor, 10);
    expect(Math.abs((had[0] ?? 0) - (had[2] ?? 0))).toBeLessThanOrEqual(4);
  });
});

test("what one gets by moving up counts in the lane it came from as well", () => {
  const fairness = new Fairness();
  const [a, b] = [newRun(many("a", 1), {}, 1), newRun(many("b", 1), {}, 2)];
  for (const run of [a, b]) {
    fairness.join(run);
    for (const lane of ["normal", "high"] as const) fairness.queue(run, lane, START);
  }
  fairness.start(a, { lane: "high", own: "normal" }, 0.5, START);
  for (const lane of ["normal", "high"] as const) expect([...fairness.order(lane, START)]).toEqual([b.no, a.no]);
  fairness.end(a, { lane: "high", own: "normal" }, 0.5, millis(1_000), later(START, seconds(1)));
  for (const lane of ["normal", "high"] as const) expect([...fairness.order(lane, START)]).toEqual([b.no, a.no]);
});
