/** Everything that can be done is done in the end, whatever the order: no task starves, and nothing is kept for ever. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { task } from "../../test/rig/builders.ts";
import { Floor } from "../../test/rig/floor.ts";
import { always } from "../../test/rig/property.ts";
import { PRIORITIES, type Priority, type TaskSpec } from "../domain/spec.ts";
import { millis, seconds } from "../domain/time.ts";
import { LANE_WEIGHTS } from "./queue/lanes.ts";
import { PRESSURE_MODES } from "./queue/pressure.ts";

describe("lanes", () => {
  const plan = (count: number, lanes: readonly Priority[] = PRIORITIES): readonly TaskSpec[] =>
    lanes.flatMap((priority) => Array.from({ length: count }, (_, at) => task(`${priority}-${at}`, { priority })));
  const lanesOf = (floor: Floor, count: number): Readonly<Record<string, number>> => {
    const counts: Record<string, number> = {};
    for (let given = 0; given < count; given++) {
      const next = floor.claimNext();
      if (next === undefined) break;
      counts[next.task.spec.priority] = (counts[next.task.spec.priority] ?? 0) + 1;
      floor.end(next.run, next.task);
    }
    return counts;
  };

  test("that are all full get exactly their shares of every hundred, from however many runs", async () => {
    await always(
      20,
      fc.property(fc.integer({ min: 1, max: 4 }), fc.nat(99), (runs, offset) => {
        const floor = new Floor();
        for (let run = 0; run < runs; run++) floor.submit(plan(150));
        lanesOf(floor, offset);
        expect(lanesOf(floor, 100)).toEqual(LANE_WEIGHTS);
      }),
    );
  });

  test("that are empty leave their share to the others", () => {
    const floor = new Floor();
    floor.submit(plan(100, ["high", "low"]));
    expect(lanesOf(floor, 70)).toEqual({ high: 60, low: 10 });
    expect(lanesOf(floor, 200)).toEqual({ high: 40, low: 90 });
  });

  test("with strict priorities a less urgent task goes only when no other can", () => {
    const floor = new Floor({ priorities: "strict", patience: { dispatches: 1_000, wait: seconds(1_000) } });
    floor.submit(plan(10, ["low", "high", "critical"]));
    expect(lanesOf(floor, 10)).toEqual({ critical: 10 });
    expect(lanesOf(floor, 11)).toEqual({ high: 10, low: 1 });
  });
});

describe("who has waited for longer than patience", () => {
  /** One worker, strict priorities, and more critical work all the time. */
  function squeezed(wait: number, dispatches: number, low: number): Floor {
    const floor = new Floor({ priorities: "strict", patience: { dispatches, wait: millis(wait) } });
    floor.submit(Array.from({ length: low }, (_, at) => task(`low${at}`, { priority: "low" })));
    floor.submit(Array.from({ length: 400 }, (_, at) => task(`busy${at}`, { priority: "critical" })));
    return floor;
  }
  function work(floor: Floor, times: number): readonly string[] {
    const done: string[] = [];
    for (let time = 0; time < times; time++) {
      floor.pass(1_000);
      floor.age();
      const next = floor.claimNext();
      if (next === undefined) break;
      done.push(next.task.spec.id);
      floor.end(next.run, next.task);
    }
    return done;
  }

  test("moves up one lane at a time, each time after as long a wait, and leaves an event each time", () => {
    const floor = squeezed(10_000, 5, 1);
    expect(work(floor, 9)).not.toContain("low0");
    expect(floor.noticed).toEqual([]);
    work(floor, 1);
    expect(floor.noticed).toEqual(["low0: aged_boost"]);
    expect(floor.find("low0").task.lane).toBe("normal");
    work(floor, 9);
    expect(floor.noticed).toHaveLength(1);
    work(floor, 1);
    expect(floor.find("low0").task.lane).toBe("high");
    expect(work(floor, 12)).toContain("low0");
    expect(floor.noticed).toHaveLength(3);
  });

  test.each([
    ["only the time", 10_000, 1_000],
    ["only the dispatches", 1e9, 5],
  ])("does not when %s has passed", (_, wait, dispatches) => {
    const floor = squeezed(wait, dispatches, 1);
    work(floor, 50);
    expect(floor.noticed).toEqual([]);
  });

  test("moves up alone: the others of its run wait as long again, so that priorities keep their meaning", () => {
    const floor = squeezed(10_000, 5, 5);
    work(floor, 19);
    expect(floor.noticed).toEqual(["low0: aged_boost"]);
  });

  test("stays where it is when no more urgent task is before it: there is only much to do", () => {
    const floor = new Floor({ patience: { dispatches: 1, wait: millis(0) } });
    floor.submit(Array.from({ length: 50 }, (_, at) => task(`t${at}`)));
    work(floor, 50);
    expect(floor.noticed).toEqual([]);
  });

  test("begins to wait when its back-off is over, and not before", () => {
    const floor = squeezed(10_000, 5, 1);
    const { run, task: low } = floor.find("low0");
    floor.happen(run, low, { kind: "parked", reason: "attention" });
    floor.happen(run, low, { kind: "requeued", asked: { by: "mo" } });
    work(floor, 9);
    expect(floor.noticed).toEqual([]);
    work(floor, 2);
    expect(floor.noticed).toEqual(["low0: aged_boost"]);
  });
});

describe("in the end", () => {
  const loose = fc.record({
    needs: fc.array(fc.nat(), { maxLength: 2 }),
    priority: fc.constantFrom(...PRIORITIES),
    resources: fc.record({ cpu: fc.nat(4), claude: fc.nat(2), tokens: fc.nat(30) }),
    writes: fc.subarray(["src/", "src/a", "doc"], { maxLength: 1 }),
    reads: fc.subarray(["src/", "src/b", "doc"], { maxLength: 1 }),
    estimate: fc.option(fc.integer({ min: 1, max: 3_000 }), { nil: undefined }),
  });
  const scenario = fc.record({
    workers: fc.integer({ min: 1, max: 4 }),
    priorities: fc.constantFrom("shares" as const, "strict" as const),
    dispatches: fc.integer({ min: 1, max: 4 }),
    wait: fc.nat(500),
    mode: fc.constantFrom(...PRESSURE_MODES),
    plans: fc.array(fc.array(loose, { minLength: 1, maxLength: 12, size: "max" }), { minLength: 1, maxLength: 3 }),
    ends: fc.array(fc.nat(), { minLength: 1, maxLength: 20 }),
  });

  test("everything is done, under any pressure, with any patience, in whatever order tasks come back", async () => {
    await always(
      300,
      fc.property(scenario, ({ workers, priorities, dispatches, wait, mode, plans, ends }) => {
        const patience = { dispatches, wait: millis(wait) };
        const floor = new Floor({ workers, priorities, patience, capacity: { cpu: 4 } });
        floor.dispatcher.pressure = { mode, queued: 9, depth: 10 };
        for (const [no, specs] of plans.entries()) {
          floor.submit(
            specs.map(({ needs, estimate, ...rest }, at) =>
              task(`p${no}t${at}`, {
                ...rest,
                needs: at === 0 ? [] : [...new Set(needs.map((need) => `p${no}t${need % at}`))],
                ...(estimate !== undefined && { estimate: millis(estimate) }),
              }),
            ),
            { resources: { claude: 2 }, rates: { tokens: { amount: 30, per: seconds(1) } } },
          );
        }
        const total = plans.reduce((sum, specs) => sum + specs.length, 0);
        // A rate may have to fill up before each of them; nothing else takes more than the end of another.
        for (let turn = 0; turn < total * 3; turn++) {
          floor.round();
          const held = floor.held();
          const ended = held[(ends[turn % ends.length] as number) % Math.max(1, held.length)];
          if (ended !== undefined) floor.end(ended.run, ended.task);
          floor.pass(ended === undefined ? 1_000 : 100);
        }
        expect(floor.runs.flatMap(({ tasks }) => tasks.map(({ status }) => status.state))).toEqual(
          Array.from({ length: total }, () => "succeeded"),
        );
      }),
    );
  });
});
