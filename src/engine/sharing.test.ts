import { describe, expect, test } from "vitest";
import { task } from "../../test/rig/builders.ts";
import { find, openRig, statesOf } from "../../test/rig/rig.ts";
import {
  agentTask,
  BACK,
  claim,
  claimed,
  DONE,
  FAILED,
  join,
  refusal,
  report,
  waiting,
} from "../../test/rig/sessions.ts";
import { eligible } from "../decide/explain/eligible.ts";
import { runId, workerId } from "../domain/ids.ts";
import { instant, millis, seconds } from "../domain/time.ts";

describe("a run", () => {
  test("is known to the pools that it has work for, and to no other", async () => {
    const rig = await openRig();
    const [mine, theirs, both] = [
      await rig.submit([task("a")]),
      await rig.submit([agentTask("a")], { id: runId("run-2") }),
      await rig.submit([task("a"), agentTask("b")], { id: runId("run-3") }),
    ];
    const { pools, dispatcher } = rig.engine;
    const agents = pools.of(find(theirs, "a"));
    expect([mine, theirs, both].map((run) => dispatcher.runs.knows(run))).toEqual([true, false, true]);
    expect([mine, theirs, both].map((run) => agents.runs.knows(run))).toEqual([false, true, true]);
    expect([mine, theirs, both].every((run) => pools.knows(run))).toBe(true);
  });
});

describe("pools share files", () => {
  test("what a local task writes no session gets meanwhile, and the other way round", async () => {
    const rig = await openRig();
    const run = await rig.submit([task("here", { writes: ["src/"] }), agentTask("there", { writes: ["src/a"] })]);
    await join(rig, "s1");
    expect(await claim(rig, "s1")).toBeUndefined();
    rig.machine.at("here").starts().fails();
    await rig.clock.settle();
    await claimed(rig, "s1");
    const again = await openRig();
    await join(again, "s1");
    const waits = await waiting(again, "s1");
    const other = await again.submit([agentTask("there", { writes: ["src/a"], priority: "high" })]);
    await again.submit([task("here", { reads: ["src/"] })], { id: runId("run-2") });
    expect(again.machine.started).toEqual([]);
    await report(again, waits.granted as never, DONE);
    expect([again.machine.started, statesOf(other), statesOf(run)]).toEqual([
      ["here"],
      { there: "succeeded" },
      { here: "failed", there: "claimed" },
    ]);
  });

  test("who waits for the files of another run in another pool is given them as soon as they are free", async () => {
    const rig = await openRig();
    await rig.submit([task("here", { writes: ["x"] })]);
    await rig.submit([agentTask("there", { writes: ["x"] })], { id: runId("run-2") });
    await join(rig, "s1");
    const waits = await waiting(rig, "s1");
    expect(waits.done).toBe(false);
    rig.machine.at("here").starts().succeeds();
    await rig.clock.settle();
    expect(waits.granted?.task.spec.id).toBe("there");
  });
});

describe("pools share what a plan declares for itself", () => {
  test("its slots", async () => {
    const rig = await openRig();
    const specs = [task("here", { resources: { claude: 1 } }), agentTask("there", { resources: { claude: 1 } })];
    const run = await rig.submit(specs, { resources: { claude: 1 } });
    await join(rig, "s1");
    expect(await claim(rig, "s1")).toBeUndefined();
    const waits = await waiting(rig, "s1");
    rig.machine.at("here").starts().succeeds();
    await rig.clock.settle();
    expect(waits.granted?.task).toBe(find(run, "there"));
  });

  test("its rates: a waiting task gets its amount when there is enough again, although others ask in between", async () => {
    const rig = await openRig();
    const specs = [task("here", { resources: { tokens: 3 } }), agentTask("there", { resources: { tokens: 3 } })];
    await rig.submit(specs, { rates: { tokens: { amount: 4, per: seconds(40) } } });
    await join(rig, "s1");
    await join(rig, "s2", { workspace: "/w" });
    const waits = await waiting(rig, "s1", { wait: seconds(100) });
    await waiting(rig, "s2", { wait: seconds(100) });
    await rig.clock.advance(19_999);
    expect(waits.done).toBe(false);
    await rig.clock.advance(1);
    expect(waits.granted?.task.spec.id).toBe("there");
  });
});

describe("a pool of sessions", () => {
  test("does not spin when something is due and no session is there: the next moment is never in the past", async () => {
    const rig = await openRig();
    const specs = [
      agentTask("a", { retry: { attempts: 3, backoff: seconds(10), factor: 1 } }),
      agentTask("b", { resources: { tokens: 3 } }),
      agentTask("c", { resources: { tokens: 3 } }),
    ];
    await rig.submit(specs, { rates: { tokens: { amount: 4, per: seconds(40) } } });
    await join(rig, "s1", { slots: 3 });
    const granted = await claimed(rig, "s1");
    await claimed(rig, "s1");
    expect(await claim(rig, "s1")).toBeUndefined();
    await report(rig, granted, FAILED);
    await rig.promised(rig.engine.api.leave("s1", "enough"));
    await rig.clock.advance(100_000);
    expect(rig.engine.pools.nextWake(rig.clock.now())).toBeUndefined();
    expect(rig.clock.waiting.every((at) => at > rig.clock.now())).toBe(true);
  });

  test("gives every session all its slots under no pressure, and fewer tasks at once under some", async () => {
    const rig = await openRig({ pressure: { depth: 20, thresholds: [0.3, 0.6, 0.9] } });
    const run = await rig.submit(Array.from({ length: 15 }, (_, at) => agentTask(`t${at}`)));
    await join(rig, "s1", { slots: 8 });
    expect(rig.engine.pools.line("agents").mode).toBe("high");
    await claimed(rig, "s1");
    await claimed(rig, "s1");
    expect(await claim(rig, "s1")).toBeUndefined();
    const last = { run: run.manifest.id, task: find(run, "t14").spec.id };
    expect(await refusal(claim(rig, "s1", last))).toBe("NOT_CLAIMABLE");
  });

  test("is asked about in the same words as it gives: who may have a task gets it, who may not does not", async () => {
    const rig = await openRig();
    const run = await rig.submit([
      agentTask("plain"),
      agentTask("skilled", { requires: ["gpu"] }),
      agentTask("placed", { workspace: "/w" }),
      agentTask("files", { writes: ["x"] }),
      agentTask("same", { writes: ["x"] }),
      agentTask("needy", { needs: ["plain"] }),
    ]);
    await join(rig, "s1", { slots: 9 });
    await join(rig, "s2", { slots: 9, capabilities: ["gpu"] });
    await join(rig, "s3", { slots: 9, workspace: "/w" });
    await claimed(rig, "s1", { run: run.manifest.id, task: find(run, "files").spec.id });
    for (const session of ["s1", "s2", "s3"]) {
      for (const { spec } of run.tasks) {
        const { ok } = eligible(rig.engine.pools, run, find(run, spec.id), workerId(session), rig.clock.now());
        const answer = claim(rig, session, { run: run.manifest.id, task: spec.id });
        const got = await answer.catch(() => undefined);
        expect(`${session} ${spec.id} ${got !== undefined}`).toBe(`${session} ${spec.id} ${ok}`);
        if (got !== undefined) await report(rig, got, BACK);
      }
    }
  });

  test("backs off with what failed, and gives it out again then", async () => {
    const rig = await openRig();
    await rig.submit([agentTask("a", { retry: { attempts: 2, backoff: millis(5_000), factor: 1 } })], { seed: 3 });
    await join(rig, "s1");
    await report(rig, await claimed(rig, "s1"), FAILED);
    const waits = await waiting(rig, "s1");
    const { status } = waits.done ? { status: undefined } : find([...rig.engine.world.runs.values()][0] as never, "a");
    const due = status?.state === "ready" ? status.notBefore : instant(0);
    expect(due).toBeGreaterThan(rig.clock.now());
    await rig.clock.advance(due - rig.clock.now());
    expect(waits.granted).toMatchObject({ fence: 2 });
  });
});

describe("a task that is edited while it waits", () => {
  test("is what it says from then on: for whom, in which order, and over a restart", async () => {
    const rig = await openRig();
    const run = await rig.submit([agentTask("a"), agentTask("b"), agentTask("c", { needs: ["a"] })]);
    await join(rig, "s1", { slots: 3 });
    const edit = (id: string, changes: object) =>
      rig.promised(rig.engine.api.edit(run, find(run, id), changes, { by: "mo", why: "better" }));
    await edit("b", { priority: "critical", title: "First" });
    await edit("c", { run: { prompt: "Otherwise." }, requires: ["gpu"] });
    expect((await claimed(rig, "s1")).task.spec).toMatchObject({ id: "b", title: "First" });
    expect(await refusal(edit("b", { title: "Too late" }))).toBe("CANNOT_EDIT");
    rig.crash();
    const again = await rig.resume(run.no);
    expect(find(again, "b").spec).toEqual(find(run, "b").spec);
    expect(find(again, "c").spec).toMatchObject({ run: { prompt: "Otherwise." }, requires: ["gpu"] });
    const granted = await claimed(rig, "s1");
    await report(rig, granted, DONE);
    expect(await refusal(rig.promised(rig.engine.api.edit(again, find(again, "a"), {}, { by: "mo" })))).toBe(
      "CANNOT_EDIT",
    );
    expect(await claim(rig, "s1")).toBeUndefined();
  });
});
