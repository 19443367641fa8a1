/** Letting a task wait is a decision, and the ledger has it: once for each reason, and never once for every waiting task. */
import { describe, expect, test } from "vitest";
import { task } from "../../test/rig/builders.ts";
import { find, openRig, type Rig } from "../../test/rig/rig.ts";
import { agentTask, claim, join, profile } from "../../test/rig/sessions.ts";
import { explain } from "../decide/explain/explain.ts";
import type { Run } from "../domain/run.ts";
import { seconds } from "../domain/time.ts";

/** `a: capacity`, for every wait that was written down. */
async function waits(rig: Rig, run: Run): Promise<readonly string[]> {
  await rig.clock.advance(1_000);
  const events = await rig.store.events({ run: run.no });
  return events.flatMap((event) =>
    event.kind === "waiting" ? [`${run.tasks[event.task]?.spec.id}: ${event.wait.reason}`] : [],
  );
}

const many = (count: number, rest: Parameters<typeof task>[1] = {}) =>
  Array.from({ length: count }, (_, at) => task(`t${at}`, rest));

describe("a wait", () => {
  test("for a worker is told once, by the first in line, as long as nothing else is waited for", async () => {
    const rig = await openRig({ workers: 1 });
    const run = await rig.submit(many(50));
    for (let at = 0; at < 50; at++) {
      rig.machine.at(`t${at}`).succeeds();
      await rig.clock.settle();
    }
    expect(run.status.state).toBe("finished");
    expect(await waits(rig, run)).toEqual(["t1: capacity"]);
  });

  test("says what `why` says, with the same evidence", async () => {
    const rig = await openRig({ workers: 2 });
    const run = await rig.submit(many(2, { resources: { db: 1 } }), { resources: { db: 1 } });
    expect(await waits(rig, run)).toEqual(["t1: resources"]);
    const [event] = (await rig.eventsOf(run, "t1")).filter(({ kind }) => kind === "waiting");
    const why = explain(rig.engine.pools, run, find(run, "t1"), event?.at ?? rig.clock.now());
    expect(event).toMatchObject({ wait: { reason: "resources", short: [{ name: "db", asked: 1, free: 0 }] } });
    expect(why.wait?.reason).toBe("resources");
  });

  test("is told again when it is for something else", async () => {
    const rig = await openRig({ workers: 2 });
    const plan = [task("x"), task("y"), ...many(3, { resources: { db: 1 } })];
    const run = await rig.submit(plan, { resources: { db: 1 } });
    expect(await waits(rig, run)).toEqual(["t0: capacity"]);
    rig.machine.at("x").succeeds();
    expect(await waits(rig, run)).toEqual(["t0: capacity"]);
    rig.machine.at("y").succeeds();
    expect(await waits(rig, run)).toEqual(["t0: capacity", "t1: resources"]);
    rig.machine.at("t0").succeeds();
    expect(await waits(rig, run)).toEqual(["t0: capacity", "t1: resources"]);
  });

  test("for files is told once of each, however often it is looked at in vain", async () => {
    const rig = await openRig({ workers: 2 });
    const run = await rig.submit(many(5, { writes: ["src/"] }));
    expect((await waits(rig, run)).toSorted()).toEqual(["t1: hazard", "t2: hazard", "t3: hazard", "t4: hazard"]);
    for (const id of ["t0", "t1", "t2"]) {
      rig.machine.at(id).succeeds();
      await rig.clock.settle();
    }
    expect(await waits(rig, run)).toHaveLength(4);
  });

  test("for work that no session can do is recorded once", async () => {
    const rig = await openRig({ workers: 2 });
    const run = await rig.submit([task("a", { requires: ["gpu"] }), task("b"), task("c", { needs: ["b"] })]);
    rig.machine.at("b").succeeds();
    await rig.clock.settle();
    expect(await waits(rig, run)).toEqual(["a: no-match"]);
  });

  test("for a session is recorded when no session is there, and when every session is busy", async () => {
    const rig = await openRig();
    const run = await rig.submit([agentTask("a"), agentTask("b"), agentTask("c")]);
    expect(await waits(rig, run)).toEqual(["a: no-match"]);
    await join(rig, "s1", { slots: 2 });
    await claim(rig, "s1");
    await claim(rig, "s1");
    expect(await waits(rig, run)).toEqual(["a: no-match", "b: capacity"]);
  });

  test("is told of a few runs in a turn, and of the others in the next ones", async () => {
    const rig = await openRig({ workers: 1 });
    const runs: Run[] = [];
    for (let at = 0; at < 100; at++) runs.push(await rig.submit([task("a")], { id: `run-${at}` as never }));
    const told = await Promise.all(runs.map((run) => waits(rig, run)));
    expect(told.map((each) => each.length)).toEqual([0, ...Array(99).fill(1)]);
  });
});

test("a pool without sessions and without work is forgotten", async () => {
  const rig = await openRig();
  for (let at = 0; at < 20; at++) {
    await rig.promised(rig.engine.api.join(profile(`s${at}`, { pool: `p${at}` })));
    const run = await rig.submit([task("a", { pool: `p${at}` })], { id: `run-${at}` as never });
    const granted = await claim(rig, `s${at}`);
    if (at < 10) await rig.promised(rig.engine.api.leave(`s${at}`, "enough"));
    expect(granted).toBeDefined();
    await rig.ask({ kind: "cancel", run: run.manifest.id });
    await rig.clock.advance(seconds(600));
    if (at >= 10) await rig.promised(rig.engine.api.leave(`s${at}`, "enough")).catch(() => {});
  }
  expect([...rig.engine.pools.sessionPools()].map(([pool]) => pool)).toEqual([]);
});
