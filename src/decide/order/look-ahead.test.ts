import { describe, expect, test } from "vitest";
import { task } from "../../../test/rig/builders.ts";
import { Floor } from "../../../test/rig/floor.ts";
import { openRig, type RigOptions, statesOf } from "../../../test/rig/rig.ts";
import type { EstimateError } from "../../domain/durations/history.ts";
import { runId } from "../../domain/ids.ts";
import type { Task } from "../../domain/task.ts";
import { millis, seconds } from "../../domain/time.ts";
import { openMemoryStore } from "../../store/memory/store.ts";
import { outlookOf } from "./outlook.ts";
import { endsFirst } from "./rank.ts";

/** The two long ones first, and the report comes at 12 s; one of them and `prepare` first, and everything is done at 10 s. */
const PLAN = [
  task("prepare", { estimate: seconds(2) }),
  task("one", { estimate: seconds(7) }),
  task("two", { estimate: seconds(7) }),
  task("report", { needs: ["prepare"], estimate: seconds(3) }),
];

/** Which tasks begin at once, in a run whose estimates have been off as `error` says. */
async function first(options: RigOptions, error: EstimateError = NO_ERROR, plan = PLAN): Promise<readonly string[]> {
  const store = openMemoryStore();
  const rig = await openRig({
    workers: 2,
    ...options,
    store: { ...store, history: async () => ({ durations: new Map(), error }) },
  });
  const states = statesOf(await rig.submit(plan));
  return Object.keys(states).filter((id) => states[id] === "running" || states[id] === "claimed");
}

const NO_ERROR: EstimateError = { count: 0, sumOfSquares: 0 };
const off = (sigma: number, count = 30): EstimateError => ({ count, sumOfSquares: count * sigma ** 2 });

describe("the policy", () => {
  test("plain takes the longest remaining paths first, rollout what comes out best", async () => {
    expect(await first({ policy: "plain" })).toEqual(["one", "two"]);
    expect(await first({ policy: "rollout" })).toContain("prepare");
  });

  test("auto looks ahead when earlier runs have shown that the estimates are worth it", async () => {
    expect(await first({ policy: "auto" }, off(0.1))).toContain("prepare");
    expect(await first({}, off(0.1))).toContain("prepare");
  });

  test.each<[string, EstimateError]>([
    ["nothing is known of them", NO_ERROR],
    ["too little is known of them", off(0.1, 19)],
  ])("auto is plain when %s", async (_, error) => {
    expect(await first({ policy: "auto" }, error)).toEqual(["one", "two"]);
  });

  test("auto is plain when they were far off", async () => {
    // So different that some difference is left after shrinking.
    const tiny = [1, 2, 3, 4].map((at) => task(`tiny${at}`, { needs: ["report"], estimate: millis(1) }));
    expect(await first({ policy: "auto" }, off(0.9), [...PLAN, ...tiny])).toContain("prepare");
    expect(await first({ policy: "auto" }, off(1.1), [...PLAN, ...tiny])).toEqual(["one", "two"]);
  });

  test("auto is plain when tasks are over before a thought is", async () => {
    const short = PLAN.map((spec) => ({ ...spec, estimate: millis((spec.estimate ?? 0) / 100) }));
    expect(await first({ policy: "auto" }, off(0.1), short)).toEqual(["one", "two"]);
  });

  test("rollout has nothing to go by without estimates", async () => {
    const unknown = PLAN.map(({ id, needs }) => task(id, { needs }));
    expect(await first({ policy: "rollout" }, NO_ERROR, unknown)).toEqual(
      await first({ policy: "plain" }, NO_ERROR, unknown),
    );
  });

  test("leaves large runs alone", async () => {
    const chain = Array.from({ length: 300 }, (_, at) =>
      task(`x${at}`, { needs: at === 0 ? ["report"] : [`x${at - 1}`], estimate: millis(1) }),
    );
    expect(await first({ policy: "rollout" }, NO_ERROR, [...PLAN, ...chain])).toEqual(
      await first({ policy: "plain" }, NO_ERROR, [...PLAN, ...chain]),
    );
  });

  test("is plain while several runs share, since none knows what it will be given", async () => {
    const rig = await openRig({ workers: 3, policy: "rollout" });
    await rig.submit([task("other")]);
    await rig.submit(PLAN, { id: runId("run-2") });
    expect(rig.machine.running).toEqual(["other", "one", "two"]);
  });
});

describe("an outlook", () => {
  const costs = Float64Array.from([4_000, 2_000, 1_000, 3_000, 5_000]);

  test("has what runs first, with what is left of it, and the others each after what it waits for", () => {
    const floor = new Floor({ workers: 1, capacity: { cpu: 8 } });
    const run = floor.submit([
      task("a", { resources: { cpu: 3 } }),
      task("b", { needs: ["a"] }),
      task("c", { needs: ["b"], resources: { cpu: 1 } }),
      task("d", { needs: ["e"] }),
      task("e"),
    ]);
    floor.claimNext();
    floor.pass(1_500);
    const forward = endsFirst(run.graph).toReversed();
    const ahead = outlookOf({ run, forward, costs }, floor.dispatcher, floor.now);
    expect(ahead).toMatchObject({ size: 5, running: 1, kinds: 2 });
    expect(ahead.numbers[0]).toBe(0);
    const placeOf = (no: number): number => ahead.numbers.indexOf(no);
    expect(placeOf(1)).toBeLessThan(placeOf(2));
    expect(placeOf(4)).toBeLessThan(placeOf(3));
    const byNo = (values: Float64Array | Int32Array) => [0, 1, 2, 3, 4].map((no) => values[placeOf(no)]);
    expect(byNo(ahead.costs)).toEqual([2_500, 2_000, 1_000, 3_000, 5_000]);
    expect(byNo(ahead.tails)).toEqual([5_500, 3_000, 1_000, 3_000, 8_000]);
    expect(byNo(ahead.unmet)).toEqual([0, 1, 1, 1, 0]);
    expect([...ahead.free]).toEqual([0, 5]);
    expect([...ahead.asks].slice(0, 2)).toEqual([1, 3]);
  });

  test("believes that what takes longer than it should goes on for a while", () => {
    const floor = new Floor({ workers: 1 });
    const run = floor.submit([task("a"), task("b")]);
    floor.claimNext();
    floor.pass(10_000);
    const forward = endsFirst(run.graph).toReversed();
    expect(outlookOf({ run, forward, costs }, floor.dispatcher, floor.now).costs[0]).toBe(2_000);
  });

  test("leaves out tasks that wait for a person, tasks that no worker can do, and all tasks after either", () => {
    const floor = new Floor({ workers: 1 });
    const run = floor.submit([
      task("gated", { gate: "Really?" }),
      task("behind", { needs: ["gated"] }),
      task("odd", { requires: ["gpu"] }),
      task("later", { after: ["odd"] }),
      task("fine"),
    ]);
    const forward = endsFirst(run.graph).toReversed();
    const ahead = (): number[] => [...outlookOf({ run, forward, costs }, floor.dispatcher, floor.now).numbers];
    expect(ahead()).toEqual([4]);
    floor.happen(run, run.tasks[0] as Task, { kind: "approved", asked: { by: "mo" } });
    expect(ahead().sort((a, b) => a - b)).toEqual([0, 1, 4]);
  });
});
