import { describe, expect, test } from "vitest";
import { manifest, task } from "../../../test/rig/builders.ts";
import { find, openRig, Rig, statesOf } from "../../../test/rig/rig.ts";
import { gatedStore } from "../../../test/rig/stores.ts";
import { runId } from "../../domain/ids.ts";
import { minutes, seconds } from "../../domain/time.ts";
import { openMemoryStore } from "../../store/memory/store.ts";
import { replayAll } from "../../store/replay.ts";

describe("a scheduler that comes back after a crash", () => {
  test("takes over what still runs, and its result counts", async () => {
    const rig = await openRig();
    const before = await rig.submit([task("a"), task("b", { needs: ["a"] })]);
    rig.machine.at("a").starts();
    await rig.clock.advance(20);
    rig.crash();
    await rig.clock.advance(minutes(10));
    const run = await rig.resume(before.no);
    expect(statesOf(run)).toEqual({ a: "running", b: "blocked" });
    expect(find(run, "a").status).toMatchObject({ process: rig.machine.at("a").identity });
    rig.machine.at("a").succeeds();
    await rig.clock.settle();
    expect(statesOf(run)).toEqual({ a: "succeeded", b: "claimed" });
    expect(rig.machine.started).toEqual(["a", "b"]);
  });

  test("hears what ended while no scheduler listened: it is not done again", async () => {
    const rig = await openRig();
    const before = await rig.submit([task("a")]);
    rig.machine.at("a").starts();
    await rig.clock.advance(20);
    rig.crash();
    rig.machine.at("a").succeeds();
    const run = await rig.resume(before.no);
    expect(run.status).toMatchObject({ state: "finished", outcome: "succeeded" });
    expect(rig.machine.started).toEqual(["a"]);
  });

  test("puts what is gone back in the queue: at no cost if it had not started, as a lost lease if it had", async () => {
    const rig = await openRig();
    const before = await rig.submit([task("a"), task("b")]);
    rig.machine.at("a").starts();
    await rig.clock.advance(20);
    rig.crash();
    rig.machine.loseAll();
    const run = await rig.resume(before.no);
    expect(find(run, "a")).toMatchObject({ attempt: 2, failures: 0, expiries: 1, lostBy: "w1" });
    expect(find(run, "b")).toMatchObject({ attempt: 2, failures: 0, expiries: 0 });
    expect(rig.machine.started).toEqual(["a", "b", "a", "b"]);
  });

  test("parks what was lost three times in a row", async () => {
    const rig = await openRig();
    let run = await rig.submit([task("a"), task("b", { needs: ["a"] })]);
    for (let times = 0; times < 3; times++) {
      rig.machine.at("a").starts();
      await rig.clock.advance(20);
      rig.crash();
      rig.machine.loseAll();
      run = await rig.resume(run.no);
    }
    expect(find(run, "a")).toMatchObject({
      attempt: 3,
      expiries: 3,
      failures: 0,
      status: { state: "parked", reason: "poison" },
    });
    expect(run.status.state).toBe("stalled");
    await rig.ask({ kind: "requeue", run: run.manifest.id });
    expect(find(run, "a")).toMatchObject({ expiries: 0, status: { state: "claimed" } });
  });

  test("keeps to the back-off that was decided before", async () => {
    const rig = await openRig();
    let run = await rig.submit([task("a", { retry: { attempts: 2, backoff: seconds(20), factor: 1 } })]);
    rig.machine.at("a").fails();
    await rig.clock.settle();
    const { status } = find(run, "a");
    rig.crash();
    run = await rig.resume(run.no);
    expect(find(run, "a")).toMatchObject({ failures: 1, status });
    expect(rig.machine.started).toEqual(["a"]);
    await rig.clock.advance(seconds(20));
    expect(rig.machine.started).toEqual(["a", "a"]);
  });

  test("goes on stopping what was being stopped", async () => {
    const rig = await openRig();
    let run = await rig.submit([task("a"), task("b")]);
    await rig.ask({ kind: "cancel", run: run.manifest.id });
    const [a, b] = [rig.machine.at("a"), rig.machine.at("b")];
    rig.crash();
    rig.machine.lose(b);
    run = await rig.resume(run.no);
    expect(a.stops).toHaveLength(2);
    expect(statesOf(run)).toEqual({ a: "claimed", b: "cancelled" });
    a.obeys();
    await rig.clock.settle();
    expect(run.status).toMatchObject({ state: "finished", outcome: "cancelled" });
  });

  test("keeps the clock of a time-out running", async () => {
    const rig = await openRig();
    let run = await rig.submit([task("a", { timeout: { hard: minutes(2) } })]);
    rig.machine.at("a").starts();
    await rig.clock.advance(minutes(1));
    rig.crash();
    await rig.clock.advance(seconds(50));
    run = await rig.resume(run.no);
    expect(rig.machine.at("a").stops).toEqual([]);
    await rig.clock.advance(seconds(10));
    expect(rig.machine.at("a").stops).toMatchObject([{ reason: { kind: "timeout", limit: "hard" } }]);
    expect(statesOf(run)).toEqual({ a: "running" });
  });

  test("goes on with a run that was stalled, and finds it stalled again", async () => {
    const rig = await openRig();
    let run = await rig.submit([task("a", { gate: "sure?" })]);
    rig.crash();
    run = await rig.resume(run.no);
    expect(run.status.state).toBe("stalled");
    await rig.ask({ kind: "approve", run: run.manifest.id });
    expect(rig.machine.started).toEqual(["a"]);
  });

  test("has nothing to do for a run that has ended, and says so", async () => {
    const rig = await openRig();
    let run = await rig.submit([task("a")]);
    rig.machine.at("a").succeeds();
    await rig.clock.settle();
    rig.crash();
    const before = await rig.kinds();
    run = await rig.resume(run.no);
    await rig.promised(rig.engine.idle(run));
    expect(run.status).toMatchObject({ state: "finished" });
    expect(await rig.kinds()).toEqual(before);
  });

  test("does not know a run that is not there", async () => {
    const rig = await openRig();
    await expect(rig.engine.resume(9 as never)).rejects.toMatchObject({ code: "RUN_UNKNOWN" });
  });

  test("does not give a task to another while it still asks whether the old one lives", async () => {
    const rig = await openRig({ workers: 3 });
    const before = await rig.submit([task("a"), task("b"), task("c")]);
    for (const process of rig.machine.processes) process.starts();
    await rig.clock.advance(20);
    rig.crash();
    rig.machine.at("a").succeeds();
    await rig.clock.advance(minutes(10));
    const answers = [Promise.withResolvers<void>(), Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    rig.machine.adoptions = answers.map(({ promise }) => promise);
    await rig.boot();
    const resumed = rig.engine.resume(before.no);
    await rig.clock.settle();
    answers[0]?.resolve();
    await rig.clock.advance(seconds(40));
    expect(rig.machine.started).toEqual(["a", "b", "c"]);
    for (const answer of answers) answer.resolve();
    const run = await rig.promised(resumed);
    expect(statesOf(run)).toEqual({ a: "succeeded", b: "running", c: "running" });
    expect(rig.machine.started).toEqual(["a", "b", "c"]);
    for (const id of ["b", "c"]) rig.machine.at(id).succeeds();
    await rig.clock.settle();
    expect(run.status).toMatchObject({ state: "finished", outcome: "succeeded" });
  });

  test("lives with a machine that has become smaller: what runs is let run, and nothing is given out on top of it", async () => {
    const rig = await openRig({ workers: 2, capacity: { cpu: 2_000 } });
    const cpu = { resources: { cpu: 1_000 } };
    const before = await rig.submit([task("a", cpu), task("b", cpu), task("c", cpu)]);
    rig.crash();
    const run = await rig.resume(before.no, { capacity: { cpu: 1_000 }, workers: 1 });
    expect(rig.machine.running).toEqual(["a", "b"]);
    rig.machine.at("a").succeeds();
    await rig.clock.settle();
    expect(rig.machine.running).toEqual(["b"]);
    rig.machine.at("b").succeeds();
    await rig.clock.settle();
    expect(rig.machine.running).toEqual(["c"]);
    expect(run.counts.succeeded).toBe(2);
  });

  test("takes several runs up, and gives out no more work than it has workers", async () => {
    const rig = await openRig({ workers: 2 });
    const first = await rig.submit([task("a"), task("x"), task("y"), task("u", { priority: "low" })]);
    const second = await rig.submit([task("b", { priority: "high" }), task("z")], { id: runId("run-2") });
    rig.machine.at("a").succeeds();
    rig.machine.at("x").succeeds();
    await rig.clock.settle();
    expect(rig.machine.running).toEqual(["b", "y"]);
    rig.crash();
    rig.machine.lose(rig.machine.at("y"));
    await rig.boot();
    await rig.promised(rig.engine.resume(first.no));
    await rig.promised(rig.engine.resume(second.no));
    for (let rounds = 0; rounds < 9; rounds++) {
      const running = rig.machine.processes.filter(({ alive }) => alive);
      // The second run's task was held already when the first run's was put on its worker: one too many, and only then.
      expect(running.length).toBeLessThanOrEqual(rounds === 0 ? 3 : 2);
      running[0]?.succeeds();
      await rig.clock.settle();
    }
    expect(rig.engine.dispatcher.idle).toBe(2);
  });

  test("puts the work of an abandoned run back in its queue, and leaves the run as it was", async () => {
    const rig = await openRig();
    const run = await rig.submit([task("a"), task("b", { needs: ["a"] })]);
    rig.machine.at("a").starts();
    await rig.clock.advance(20);
    rig.crash();
    rig.machine.loseAll();
    await rig.boot();
    await rig.promised(rig.engine.shelve(run.no));
    expect(rig.machine.started).toEqual(["a"]);
    const stored = await rig.store.load(run.no);
    // However often it happens, it does not count as lost.
    expect(stored?.tasks).toMatchObject([{ state: "waiting", attempt: 1, expiries: 0, failures: 0 }]);
    expect((await rig.eventsOf(run, "a")).at(-1)).toMatchObject({ kind: "released" });
    expect(stored?.row.status).toEqual({ state: "active" });
    expect(await replayAll(rig.store)).toEqual([]);
  });
});

describe("a crash at any commit", () => {
  const plan = [
    task("a"),
    task("b", { needs: ["a"], retry: { attempts: 2 } }),
    task("c", { needs: ["a"] }),
    task("d", { needs: ["b", "c"], gate: "sure?" }),
  ];

  /** Everything succeeds, but `b` on its second try. */
  async function goOn(rig: Rig): Promise<void> {
    for (let rounds = 0; rounds < 20; rounds++) {
      for (const process of rig.machine.processes) {
        if (!process.alive) continue;
        process.starts();
        if (process.attempt.task === "b" && process.attempt.fence === 1) process.fails();
        else process.succeeds();
      }
      await rig.clock.advance(500);
    }
  }

  const COMMITS = 7;

  test("is a crash at every commit there is", async () => {
    const store = gatedStore(openMemoryStore());
    const rig = new Rig({ store });
    await rig.boot();
    await rig.submit(plan);
    await rig.ask({ kind: "approve", run: runId("run-1") });
    await goOn(rig);
    expect(store.committed).toHaveLength(COMMITS);
  });

  const cases = Array.from({ length: COMMITS }, (_, at) => at + 1).flatMap((at) =>
    (["lost", "written"] as const).flatMap((how) => [true, false].map((traces) => ({ at, how, traces }))),
  );

  test.each(cases)(
    "number $at, which was $how, loses nothing and commits nothing twice (traces left: $traces)",
    async ({ at, how, traces }) => {
      const store = gatedStore(openMemoryStore());
      const rig = new Rig({ store });
      await rig.boot();
      const failed = rig.engine.failed.catch((error: Error) => error.message);
      store.crashAt(at, how);
      const submitted = rig.engine.submit(manifest(), plan).catch(() => undefined);
      await rig.clock.settle();
      await rig.store.request({ kind: "approve", run: runId("run-1"), by: "mo", at: rig.clock.now() });
      void rig.engine.takeRequests().catch(() => {});
      await rig.clock.settle();
      await goOn(rig);
      expect(await failed).toBe("crashed");
      await submitted;

      rig.crash();
      if (!traces) rig.machine.loseAll();
      await rig.boot();
      const known = (await rig.store.runs())[0];
      const run = await rig.promised(
        known === undefined ? rig.engine.submit(manifest(), plan) : rig.engine.resume(known.no),
      );
      await rig.promised(rig.engine.takeRequests());
      await goOn(rig);
      expect(run.status).toMatchObject({ state: "finished", outcome: "succeeded" });
      expect(await replayAll(rig.store)).toEqual([]);
      const ends = (await rig.store.events({})).filter(({ kind }) => kind === "succeeded");
      expect(ends).toHaveLength(plan.length);
    },
  );
});

describe("two schedulers on one store", () => {
  test("the older one's next commit is refused, and it stops without having told any caller", async () => {
    const rig = await openRig();
    const run = await rig.submit([task("a"), task("b", { needs: ["a"] })]);
    const old = rig.engine;
    const failed = expect(old.failed).rejects.toMatchObject({ code: "STATE_BUSY" });
    const zombie = rig.machine.at("a");
    const heard: unknown[] = [];
    old.listen((events) => heard.push(...events));
    await rig.boot();
    zombie.succeeds();
    await rig.clock.settle();
    await failed;
    expect(heard).toEqual([]);
    expect(rig.machine.started).toEqual(["a"]);
    expect((await rig.store.load(run.no))?.tasks).toMatchObject([{ state: "claimed" }]);
    const resumed = await rig.promised(rig.engine.resume(run.no));
    expect(statesOf(resumed)).toEqual({ a: "succeeded", b: "claimed" });
    expect(await replayAll(rig.store)).toEqual([]);
  });
});
