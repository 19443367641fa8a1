import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { manifest, success, task } from "../../test/rig/builders.ts";
import { START } from "../../test/rig/clock.ts";
import { always } from "../../test/rig/property.ts";
import type { TaskNews } from "../domain/event.ts";
import { runId, workerId } from "../domain/ids.ts";
import { type Run, type RunManifest, runNo } from "../domain/run.ts";
import type { TaskSpec } from "../domain/spec.ts";
import type { Task } from "../domain/task.ts";
import { instant, later, millis, seconds } from "../domain/time.ts";
import { World } from "../domain/world.ts";
import { PendingBatch } from "../engine/turn/pending-batch.ts";
import { Dispatcher } from "./dispatcher.ts";
import type { DispatcherOptions } from "./dispatcher-parts.ts";

type Options = Partial<Omit<DispatcherOptions, "workers">> & { readonly workers?: number };

/** A dispatcher that follows a World to which the test makes things happen. */
class Floor {
  readonly world = new World();
  readonly dispatcher: Dispatcher;
  readonly #pending: PendingBatch;
  now = START;
  #runs = 0;

  constructor({ workers = 1, ...rest }: Options = {}) {
    const slots = Array.from({ length: workers }, (_, at) => workerId(`w${at + 1}`));
    this.dispatcher = new Dispatcher({ capacity: {}, capabilities: [], ...rest, workers: slots });
    this.#pending = new PendingBatch(this.world, (change) => this.dispatcher.observe(change));
  }

  submit(specs: readonly TaskSpec[], rest: Partial<RunManifest> = {}): Run {
    const no = runNo(++this.#runs);
    this.#pending.ofRun(
      no,
      { kind: "run_submitted", manifest: manifest({ id: runId(`run-${no}`), ...rest }), specs },
      this.now,
    );
    const run = this.world.run(no) as Run;
    this.dispatcher.admit(run);
    return run;
  }

  happen(run: Run, at: number, news: TaskNews): void {
    this.#pending.ofTask(run, run.tasks[at] as Task, news, this.now);
  }

  /** Claims whatever the dispatcher gives out now. */
  dispatch(): string[] {
    const given: string[] = [];
    for (let next = this.dispatcher.next(this.now); next !== undefined; next = this.dispatcher.next(this.now)) {
      const { run, task: each, worker, evidence } = next;
      given.push(each.spec.id);
      this.happen(run, each.no, {
        kind: "claimed",
        worker,
        evidence,
        deadline: later(this.now, seconds(30)),
        tokenHash: "h",
      });
    }
    return given;
  }

  /** Ends the task well and dispatches again. */
  end(run: Run, id: string): string[] {
    this.happen(
      run,
      run.tasks.findIndex(({ spec }) => spec.id === id),
      { kind: "succeeded", outcome: success },
    );
    return this.dispatch();
  }

  /** The whole order in which one worker would do everything. */
  order(): string[] {
    const done: string[] = [];
    for (let given = this.dispatch(); given.length > 0; ) {
      const id = given[0] as string;
      done.push(id);
      const run = [...this.world.runs.values()].find(({ tasks }) =>
        tasks.some(({ spec, status }) => spec.id === id && status.state === "claimed"),
      );
      given = this.end(run as Run, id);
    }
    return done;
  }
}

describe("who goes first", () => {
  test("priorities take turns, the higher more often", () => {
    const floor = new Floor();
    const specs = (["low", "normal", "high", "critical"] as const).flatMap((priority) =>
      [1, 2].map((at) => task(`${priority}${at}`, { priority })),
    );
    floor.submit(specs);
    expect(floor.order()).toEqual(["critical1", "high1", "critical2", "normal1", "high2", "normal2", "low1", "low2"]);
  });

  test("among equals those with the longest way to go, then those that come first in the plan", () => {
    const floor = new Floor();
    floor.submit([task("a"), task("b"), task("c"), task("d", { needs: ["c"] }), task("e", { needs: ["d"] })]);
    expect(floor.order()).toEqual(["c", "d", "a", "b", "e"]);
  });

  test("the same changes give the same choices", async () => {
    const plans = fc.array(fc.record({ needs: fc.array(fc.nat(), { maxLength: 2 }), estimate: fc.nat(9) }), {
      maxLength: 15,
      size: "max",
    });
    await always(
      100,
      fc.property(plans, (loose) => {
        const specs = loose.map(({ needs, estimate }, at) =>
          task(`t${at}`, { needs: at === 0 ? [] : needs.map((need) => `t${need % at}`), estimate: millis(estimate) }),
        );
        const orderOf = (): string[] => {
          const floor = new Floor();
          floor.submit(specs);
          return floor.order();
        };
        expect(orderOf()).toEqual(orderOf());
        expect(orderOf().sort()).toEqual(specs.map(({ id }) => id).sort());
      }),
    );
  });

  test("the choice comes with the numbers it was made by", () => {
    const floor = new Floor();
    floor.submit([task("a", { priority: "high", estimate: seconds(4) })]);
    floor.now = later(START, seconds(2));
    expect(floor.dispatcher.next(floor.now)?.evidence).toEqual({ lane: "high", rank: 4_000, waitedMs: 2_000 });
  });

  test("nothing is given out when no worker is free, or no task is ready", () => {
    const floor = new Floor({ workers: 1 });
    expect(floor.dispatch()).toEqual([]);
    const run = floor.submit([task("a"), task("b")]);
    expect(floor.dispatch()).toEqual(["a"]);
    expect(floor.dispatcher.idle).toBe(0);
    expect(floor.end(run, "a")).toEqual(["b"]);
  });
});

describe("files", () => {
  test("a task waits for the task that has its files, lets others pass, and goes when that task is done", () => {
    const floor = new Floor({ workers: 3 });
    const run = floor.submit([
      task("a", { writes: ["src/"], estimate: seconds(9) }),
      task("b", { reads: ["src/x"], estimate: seconds(8) }),
      task("c", { writes: ["src/y"], estimate: seconds(7) }),
      task("d", { writes: ["doc"] }),
    ]);
    expect(floor.dispatch()).toEqual(["a", "d"]);
    expect(floor.dispatcher.hazard(run, run.tasks[1] as Task, START)).toMatchObject({
      kind: "read-write",
      holder: { spec: { id: "a" } },
    });
    expect(floor.end(run, "a")).toEqual(["b", "c"]);
  });

  test.each<[string, TaskNews]>([
    ["is tried again", { kind: "retried", outcome: success, notBefore: later(START, seconds(60)), costs: true }],
    ["is lost", { kind: "expired", worker: workerId("w1"), notBefore: later(START, seconds(60)) }],
    ["is parked", { kind: "parked", reason: "attention" }],
    ["is cancelled", { kind: "cancelled", asked: { by: "mo" } }],
    ["fails", { kind: "failed", outcome: success, reason: "permanent" }],
  ])("they are let go when the holder %s", (_, news) => {
    const floor = new Floor({ workers: 2, capacity: { cpu: 2 } });
    const run = floor.submit([
      task("a", { writes: ["x"], resources: { cpu: 2 }, estimate: seconds(2) }),
      task("b", { writes: ["x"], resources: { cpu: 2 } }),
    ]);
    expect(floor.dispatch()).toEqual(["a"]);
    floor.happen(run, 0, news);
    expect(floor.dispatch()).toEqual(["b"]);
  });

  test("a task that was cancelled while it waited is not given out when its turn comes", () => {
    const floor = new Floor({ workers: 2 });
    const run = floor.submit([task("a", { writes: ["x"], estimate: seconds(2) }), task("b", { writes: ["x"] })]);
    floor.dispatch();
    floor.happen(run, 1, { kind: "cancelled", asked: { by: "mo" } });
    expect(floor.end(run, "a")).toEqual([]);
  });

  test("of one run stand in the way of another's in the same directory", () => {
    const floor = new Floor({ workers: 2 });
    const first = floor.submit([task("a", { writes: ["x"] })]);
    floor.submit([task("b", { writes: ["x"] })]);
    expect(floor.dispatch()).toEqual(["a"]);
    expect(floor.end(first, "a")).toEqual(["b"]);
  });
});

describe("resources", () => {
  test("what does not fit is passed over, and goes as soon as it does", () => {
    const floor = new Floor({ workers: 3, capacity: { cpu: 4 } });
    const cpu = (amount: number, rank: number) => ({ resources: { cpu: amount }, estimate: seconds(rank) });
    const run = floor.submit([
      task("a", cpu(3, 9)),
      task("b", cpu(2, 8)),
      task("c", cpu(1, 7)),
      task("d", { estimate: seconds(1) }),
    ]);
    expect(floor.dispatch()).toEqual(["a", "c", "d"]);
    expect(floor.end(run, "c")).toEqual([]);
    expect(floor.end(run, "a")).toEqual(["b"]);
  });

  test("a plan's own are counted for that plan, the machine's for all", () => {
    const floor = new Floor({ workers: 9, capacity: { gpu: 2 } });
    const plan = [task("a", { resources: { claude: 1, gpu: 1 } }), task("b", { resources: { claude: 1 } })];
    floor.submit(plan, { resources: { claude: 1 } });
    floor.submit(
      plan.map((spec) => ({ ...spec, id: `${spec.id}2` as TaskSpec["id"] })),
      { resources: { claude: 1 } },
    );
    expect(floor.dispatch()).toEqual(["a", "a2"]);
    expect([...floor.dispatcher.resources()].map(({ name, free }) => [name, free])).toEqual([
      ["gpu", 0],
      ["1:claude", 0],
      ["2:claude", 0],
    ]);
  });

  test("a need that two say is limited is limited by both", () => {
    const floor = new Floor({ workers: 9, capacity: { claude: 5 } });
    floor.submit(
      [1, 2, 3].map((at) => task(`t${at}`, { resources: { claude: 1 } })),
      { resources: { claude: 2 } },
    );
    expect(floor.dispatch()).toEqual(["t1", "t2"]);
  });

  test("whatever is given out and comes back, no more is out than there is, and in the end all of it is back", async () => {
    const shapes = fc.record({ cpu: fc.nat(5), memory: fc.nat(5) });
    const cases = fc.record({
      specs: fc.array(shapes, { size: "max", maxLength: 20 }),
      picks: fc.array(fc.nat(), { size: "max", maxLength: 60 }),
    });
    await always(
      300,
      fc.property(cases, ({ specs, picks }) => {
        const floor = new Floor({ workers: 4, capacity: { cpu: 5, memory: 7 } });
        const run = floor.submit(specs.map((resources, at) => task(`t${at}`, { resources })));
        const outNow = () => run.tasks.filter(({ status }) => status.state === "claimed");
        const endOne = (pick: number): void => {
          const held = outNow();
          if (held.length > 0) floor.end(run, (held[pick % held.length] as Task).spec.id);
        };
        floor.dispatch();
        for (const pick of [...picks, ...specs.map(() => 0)]) {
          for (const { name, free, capacity } of floor.dispatcher.resources()) {
            expect(free).toBe(capacity - outNow().reduce((sum, { spec }) => sum + (spec.resources[name] ?? 0), 0));
            expect(free).toBeGreaterThanOrEqual(0);
          }
          // No worker is idle while a task fits.
          expect(floor.dispatch()).toEqual([]);
          endOne(pick);
        }
        expect(run.counts.succeeded).toBe(specs.length);
        for (const { free, capacity } of floor.dispatcher.resources()) expect(free).toBe(capacity);
        expect(floor.dispatcher.idle).toBe(4);
      }),
    );
  });
});

describe("what cannot go", () => {
  test("because it wants more than there is, or something no node has, is known to be impossible and holds no other task up", () => {
    const floor = new Floor({ workers: 1, capacity: { cpu: 2 }, capabilities: ["git"] });
    const run = floor.submit([
      task("big", { resources: { cpu: 3 }, estimate: seconds(9) }),
      task("odd", { requires: ["gpu"], estimate: seconds(8) }),
      task("fine", { requires: ["git"] }),
    ]);
    expect(floor.dispatcher.canMove(run)).toBe(true);
    expect(floor.order()).toEqual(["fine"]);
    expect(floor.dispatcher.canMove(run)).toBe(false);
    expect(floor.dispatcher.missing(["git", "gpu"])).toEqual(["gpu"]);
  });

  test("when there are no workers nothing can move", () => {
    const floor = new Floor({ workers: 0 });
    expect(floor.dispatcher.canMove(floor.submit([task("a")]))).toBe(false);
  });

  test("yet, because it backs off, wakes the dispatcher at its time", () => {
    const floor = new Floor({ workers: 2 });
    const run = floor.submit([task("a"), task("b")]);
    floor.dispatch();
    const at = (count: number) => later(START, seconds(count));
    floor.happen(run, 0, { kind: "retried", outcome: success, notBefore: at(9), costs: true });
    floor.happen(run, 1, { kind: "retried", outcome: success, notBefore: at(5), costs: true });
    expect(floor.dispatcher.nextWake(floor.now)).toBe(at(5));
    expect(floor.dispatch()).toEqual([]);
    expect(floor.dispatcher.canMove(run)).toBe(true);
    floor.now = at(5);
    expect(floor.dispatch()).toEqual(["b"]);
    expect(floor.dispatcher.nextWake(floor.now)).toBe(at(9));
    floor.now = instant(at(9) - 1);
    expect(floor.dispatch()).toEqual([]);
    floor.now = at(9);
    expect(floor.dispatch()).toEqual(["a"]);
    expect(floor.dispatcher.nextWake(floor.now)).toBeUndefined();
  });

  test("any more, because it was cancelled while it backed off, brings no wake", () => {
    const floor = new Floor();
    const run = floor.submit([task("a")]);
    floor.dispatch();
    floor.happen(run, 0, { kind: "retried", outcome: success, notBefore: later(START, seconds(9)), costs: true });
    floor.happen(run, 0, { kind: "cancelled", asked: { by: "mo" } });
    expect(floor.dispatcher.nextWake(floor.now)).toBeUndefined();
    floor.now = later(START, seconds(9));
    expect(floor.dispatch()).toEqual([]);
  });
});

describe("a run that has ended", () => {
  test("is let go of, and what is still told about it changes nothing", () => {
    const floor = new Floor();
    const run = floor.submit([task("a")]);
    floor.dispatch();
    floor.end(run, "a");
    floor.dispatcher.dismiss(run);
    floor.happen(run, 0, { kind: "late_report_refused", fence: 1, reported: "success" });
    expect(floor.dispatcher.idle).toBe(1);
    expect(floor.dispatch()).toEqual([]);
  });
});

describe("a run that is taken up again", () => {
  test("keeps its workers, its room and its files for what is out", () => {
    const floor = new Floor({ workers: 2, capacity: { cpu: 2 } });
    const run = floor.submit([
      task("a", { writes: ["x"], resources: { cpu: 1 }, estimate: seconds(9) }),
      task("b", { writes: ["x"], estimate: seconds(8) }),
      task("c", { resources: { cpu: 2 }, estimate: seconds(7) }),
    ]);
    expect(floor.dispatch()).toEqual(["a"]);
    const next = new Dispatcher({ workers: [workerId("w1"), workerId("w2")], capacity: { cpu: 2 }, capabilities: [] });
    next.admit(run);
    expect(next.idle).toBe(1);
    expect(next.next(START)).toBeUndefined();
    expect([...next.resources()].map(({ free }) => free)).toEqual([1]);
  });
});
