import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { task } from "../../../test/rig/builders.ts";
import { START } from "../../../test/rig/clock.ts";
import { Floor } from "../../../test/rig/floor.ts";
import { always } from "../../../test/rig/property.ts";
import { millis, seconds } from "../../domain/time.ts";
import { waitsOf } from "../explain/explain.ts";

const HASTE = { dispatches: 2, wait: millis(0) };
const waitOf = (floor: Floor, id: string) => {
  const { run, task: each } = floor.find(id);
  return waitsOf(floor.dispatcher, run, floor.now)(each);
};

describe("a task that was passed over for too long", () => {
  /** Four cores, small tasks on all of them, and a big task that would never see all four free. */
  function crowd(estimated: boolean, patience = HASTE): Floor {
    const floor = new Floor({ workers: 9, capacity: { cpu: 4 }, patience });
    const lasting = (count: number) => (estimated ? { estimate: seconds(count) } : {});
    floor.submit([
      task("big", { resources: { cpu: 4 }, ...lasting(100) }),
      ...Array.from({ length: 20 }, (_, at) =>
        task(`s${at}`, { resources: { cpu: 1 }, ...lasting(at === 9 ? 1 : 10) }),
      ),
      task("first", { resources: { cpu: 2 }, priority: "critical", ...lasting(30) }),
    ]);
    return floor;
  }

  test("has what it is short of kept for it, and starts when the last of those before it is done", () => {
    const floor = crowd(false);
    expect(floor.round()).toEqual(["first", "s0", "s1"]);
    // From here on it is the big task's turn, and no other task takes a core any more.
    expect(floor.finish("s0")).toEqual([]);
    expect(waitOf(floor, "s3")).toMatchObject({
      reason: "resources",
      reservedFor: { task: "big", state: "ready" },
      short: [{ name: "cpu", asked: 1, free: 0, capacity: 4 }],
    });
    expect(floor.finish("s1")).toEqual([]);
    expect(floor.finish("first")).toEqual(["big"]);
    expect(floor.finish("big")).toHaveLength(4);
  });

  test("is passed by tasks that end in time, and by no others", () => {
    const floor = crowd(true);
    expect(floor.round()).toEqual(["first", "s0", "s1"]);
    // `first` ends after 30 s: a task of 10 s that is started by 20 s is back by then.
    floor.pass(20_000);
    expect(floor.finish("s0")).toEqual(["s2"]);
    floor.pass(1);
    // Only the task of one second still is, although it is far from the first in line.
    expect(floor.finish("s1")).toEqual(["s9"]);
    expect(floor.finish("s9")).toEqual([]);
  });

  test("is passed over all the time as long as its patience lasts", () => {
    const floor = crowd(false, { dispatches: 1_000, wait: seconds(1_000) });
    floor.round();
    for (let time = 0; time < 15; time++) {
      const small = floor.held().find(({ task: { spec } }) => spec.id !== "first");
      floor.finish(small?.task.spec.id ?? "");
      expect(floor.held().some(({ task: { spec } }) => spec.id === "big")).toBe(false);
    }
  });

  test("keeps files as well, against tasks that would always use them", () => {
    const floor = new Floor({ workers: 2, patience: HASTE });
    floor.submit([
      task("all", { writes: ["src/"], estimate: seconds(9) }),
      ...Array.from({ length: 9 }, (_, at) =>
        task(`r${at}`, { reads: ["src/a"], estimate: seconds(2), priority: "high" }),
      ),
    ]);
    floor.round();
    floor.finish("r0");
    floor.finish("r1");
    floor.finish("r2");
    expect(waitOf(floor, "r5")).toMatchObject({ reason: "hazard", holder: { task: "all", state: "ready" } });
    const held = floor.held().map(({ task: { spec } }) => spec.id);
    for (const id of held) floor.finish(id);
    expect(floor.held().map(({ task: { spec } }) => spec.id)).toContain("all");
  });

  test("that waits for a service that fails keeps nothing from others", () => {
    const floor = new Floor({ workers: 4, capacity: { cpu: 2 }, patience: HASTE });
    floor.submit([
      task("big", { resources: { cpu: 2 }, provider: "api", estimate: seconds(9) }),
      ...Array.from({ length: 9 }, (_, at) => task(`s${at}`, { resources: { cpu: 1 } })),
      ...Array.from({ length: 5 }, (_, at) => task(`f${at}`, { provider: "api", priority: "critical" })),
    ]);
    for (let time = 0; time < 5; time++) {
      floor.round();
      const failing = floor.held().find(({ task: { spec } }) => spec.provider === "api" && spec.id !== "big");
      if (failing !== undefined) floor.end(failing.run, failing.task, { kind: "exit", code: 1, durationMs: millis(1) });
    }
    expect(waitOf(floor, "big")?.reason).toBe("breaker-open");
    expect(floor.dispatcher.reservation.current(floor.now)).toBeUndefined();
    floor.round();
    expect(floor.held().filter(({ task: { spec } }) => spec.id.startsWith("s"))).toHaveLength(2);
  });

  test("that comes to wait for a service lets those go who stood behind its files", () => {
    const floor = new Floor({ workers: 2, patience: HASTE });
    floor.submit([
      task("all", { writes: ["src/"], provider: "api", estimate: seconds(9) }),
      ...Array.from({ length: 9 }, (_, at) =>
        task(`r${at}`, { reads: ["src/a"], estimate: seconds(2), priority: "high" }),
      ),
    ]);
    floor.round();
    for (const id of ["r0", "r1", "r2"]) floor.finish(id);
    expect(floor.dispatcher.reservation.current(floor.now)?.task.spec.id).toBe("all");
    expect(floor.dispatcher.idle).toBe(1);
    // The service fails: from now on its task keeps nothing, and the tasks that stood behind it need not wait for its end.
    const failing = floor.submit(Array.from({ length: 5 }, (_, at) => task(`f${at}`, { provider: "api" })));
    for (const each of failing.tasks) {
      expect(floor.round()).toEqual([each.spec.id]);
      floor.end(failing, each, { kind: "exit", code: 1, durationMs: millis(1) });
    }
    expect(waitOf(floor, "all")?.reason).toBe("breaker-open");
    expect(floor.round()).toEqual(["r4"]);
  });

  test("and is cancelled meanwhile leaves everything to the others", () => {
    const floor = crowd(false);
    floor.round();
    expect(floor.finish("s0")).toEqual([]);
    const { run, task: big } = floor.find("big");
    floor.happen(run, big, { kind: "cancelled", asked: { by: "mo" } });
    expect(floor.round()).toEqual(["s2"]);
  });
});

test("a reserved task starts no later than if nothing had been let past it", async () => {
  const small = fc.record({ cpu: fc.integer({ min: 1, max: 3 }), seconds: fc.integer({ min: 1, max: 30 }) });
  const scenario = fc.record({
    big: fc.integer({ min: 3, max: 4 }),
    small: fc.array(small, { minLength: 8, maxLength: 30, size: "max" }),
  });
  await always(
    300,
    fc.property(scenario, (told) => {
      const floor = new Floor({ workers: 6, capacity: { cpu: 4 }, patience: HASTE });
      const run = floor.submit([
        task("big", { resources: { cpu: told.big }, estimate: seconds(1_000) }),
        ...told.small.map((each, at) =>
          task(`s${at}`, { resources: { cpu: each.cpu }, estimate: seconds(each.seconds), priority: "high" }),
        ),
      ]);
      const big = run.tasks[0];
      const ends = new Map<string, number>();
      /** When the big task could start if no other task were let in, as of the moment its reservation was made. */
      let promised: number | undefined;
      const settle = (): void => {
        const before = floor.dispatcher.reservation.current(floor.now)?.task;
        for (const id of floor.round()) ends.set(id, floor.now + (floor.find(id).task.spec.estimate as number));
        const after = floor.dispatcher.reservation.current(floor.now)?.task;
        if (promised !== undefined || after !== big || before === big) return;
        let free = 4 - floor.held().reduce((sum, { task: each }) => sum + (each.spec.resources.cpu ?? 0), 0);
        const held = floor
          .held()
          .toSorted((a, b) => (ends.get(a.task.spec.id) as number) - (ends.get(b.task.spec.id) as number));
        promised = floor.now;
        for (const each of held) {
          if (free >= told.big) break;
          free += each.task.spec.resources.cpu ?? 0;
          promised = ends.get(each.task.spec.id) as number;
        }
      };
      settle();
      while (big?.status.state === "ready") {
        const next = floor
          .held()
          .toSorted((a, b) => (ends.get(a.task.spec.id) as number) - (ends.get(b.task.spec.id) as number))[0];
        if (next === undefined) break;
        floor.pass(Math.max(0, (ends.get(next.task.spec.id) as number) - floor.now));
        floor.end(next.run, next.task);
        settle();
      }
      expect(big?.status.state).toBe("claimed");
      if (promised !== undefined) expect(floor.now - START).toBeLessThanOrEqual(promised - START);
    }),
  );
});
