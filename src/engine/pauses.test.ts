import { describe, expect, test } from "vitest";
import { task } from "../../test/rig/builders.ts";
import { find, openRig, type Rig, statesOf } from "../../test/rig/rig.ts";
import {
  agentTask,
  BEAT,
  Bell,
  claim,
  claimed,
  cycleOf,
  DONE,
  join,
  refusal,
  report,
  waiting,
} from "../../test/rig/sessions.ts";
import { explain } from "../decide/explain/explain.ts";
import { runId } from "../domain/ids.ts";
import type { Run } from "../domain/run.ts";
import { seconds } from "../domain/time.ts";
import type { PauseScope } from "../domain/waiting/pause.ts";

const asked = { by: "mo", why: "lunch" };
const hold = (rig: Rig, scope: PauseScope) => rig.promised(rig.engine.api.hold(scope, asked));
const letGo = (rig: Rig, scope: PauseScope) => rig.promised(rig.engine.api.letGo(scope, asked));
const scopeOf = (of: PauseScope["of"], run: Run): PauseScope => {
  if (of === "scheduler") return { of };
  if (of === "pool") return { of, pool: "agents" };
  return of === "run" ? { of, run: run.no } : { of, run: run.no, task: find(run, "a").no };
};

describe.each(["scheduler", "pool", "run", "task"] as const)("a pause of the %s", (of) => {
  test("keeps everything new back: claims, claims that wait, wakes; and its end brings it all back", async () => {
    const rig = await openRig();
    const run = await rig.submit([agentTask("a")]);
    const scope = scopeOf(of, run);
    await hold(rig, scope);
    await join(rig, "s1");
    await join(rig, "s2");
    expect(await claim(rig, "s1")).toBeUndefined();
    expect(await refusal(claim(rig, "s1", { run: run.manifest.id, task: find(run, "a").spec.id }))).toBe(
      "NOT_CLAIMABLE",
    );
    const waits = await waiting(rig, "s1");
    const bell = new Bell();
    await rig.promised(cycleOf(rig, bell).runOnce());
    expect([waits.done, bell.heard(), statesOf(run)]).toEqual([false, [], { a: "ready" }]);
    expect(run.status.state).toBe("active");
    expect(await letGo(rig, scope)).toBe(true);
    expect(waits.granted?.task).toBe(find(run, "a"));
    expect(await letGo(rig, scope)).toBe(false);
  });

  test("keeps an offer and an assignment back", async () => {
    const rig = await openRig();
    const run = await rig.submit([agentTask("a")]);
    await join(rig, "s1");
    await rig.promised(cycleOf(rig, new Bell()).runOnce());
    await hold(rig, scopeOf(of, run));
    expect(await claim(rig, "s1")).toBeUndefined();
    const pushing = await openRig({ modes: { agents: "push" } });
    const pushed = await pushing.submit([agentTask("a")]);
    await hold(pushing, scopeOf(of, pushed));
    await join(pushing, "s1");
    expect(statesOf(pushed)).toEqual({ a: "ready" });
    await letGo(pushing, scopeOf(of, pushed));
    expect(statesOf(pushed)).toEqual({ a: "claimed" });
  });

  test("lets what is out go on, and what has run out is swept", async () => {
    const rig = await openRig();
    const run = await rig.submit([agentTask("a")]);
    await join(rig, "s1", { ttl: seconds(10) });
    const granted = await claimed(rig, "s1");
    await hold(rig, scopeOf(of, run));
    await report(rig, granted, BEAT);
    await rig.clock.advance(10_001);
    expect(statesOf(run)).toEqual({ a: "ready" });
    expect(await claim(rig, "s1")).toBeUndefined();
  });

  test("survives a restart, with who asked for it and why; and `why` names it", async () => {
    const rig = await openRig();
    const run = await rig.submit([agentTask("a")]);
    await join(rig, "s1");
    const scope = scopeOf(of, run);
    await hold(rig, scope);
    const { at } = [...rig.engine.world.pauses.values()][0] as { at: number };
    rig.crash();
    await rig.clock.advance(5_000);
    const again = await rig.resume(run.no);
    expect([...rig.engine.world.pauses.values()]).toEqual([{ scope, asked, at }]);
    expect(await claim(rig, "s1")).toBeUndefined();
    const { wait, gates } = explain(rig.engine.pools, again, find(again, "a"), rig.clock.now());
    expect(wait).toEqual({ reason: "paused", asked });
    expect(gates).toContainEqual({ gate: "pause", open: false });
    await letGo(rig, scope);
    expect((await claimed(rig, "s1")).task).toBe(find(again, "a"));
    expect(await rig.store.pauses()).toEqual([]);
  });
});

describe("a pause", () => {
  test("of the pool `local` keeps this machine's own workers idle, and no session", async () => {
    const rig = await openRig();
    await hold(rig, { of: "pool", pool: "local" });
    const run = await rig.submit([task("here"), agentTask("there")]);
    await join(rig, "s1");
    await claimed(rig, "s1");
    expect([rig.machine.started, statesOf(run)]).toEqual([[], { here: "ready", there: "claimed" }]);
    await letGo(rig, { of: "pool", pool: "local" });
    expect(rig.machine.started).toEqual(["here"]);
  });

  test.each(["scheduler", "run"] as const)("of the %s keeps local work back too", async (of) => {
    const rig = await openRig({ workers: 1 });
    const run = await rig.submit([task("a"), task("b")]);
    await hold(rig, scopeOf(of, run));
    rig.machine.at("a").starts().succeeds();
    await rig.clock.advance(60_000);
    expect(statesOf(run)).toEqual({ a: "succeeded", b: "ready" });
    await letGo(rig, scopeOf(of, run));
    expect(statesOf(run)).toEqual({ a: "succeeded", b: "claimed" });
  });

  test("of a task holds everything that depends on it, by need or by order, and nothing else", async () => {
    const rig = await openRig();
    const run = await rig.submit([
      agentTask("a"),
      agentTask("b", { needs: ["a"] }),
      agentTask("c", { after: ["b"] }),
      agentTask("d"),
    ]);
    await join(rig, "s1", { slots: 9 });
    const held = await claimed(rig, "s1", { run: run.manifest.id, task: find(run, "a").spec.id });
    await hold(rig, { of: "task", run: run.no, task: find(run, "a").no });
    await report(rig, held, DONE);
    expect(statesOf(run)).toMatchObject({ b: "ready" });
    expect((await claimed(rig, "s1")).task.spec.id).toBe("d");
    expect(await claim(rig, "s1")).toBeUndefined();
    rig.crash();
    const again = await rig.resume(run.no);
    expect(await claim(rig, "s1")).toBeUndefined();
    await letGo(rig, { of: "task", run: again.no, task: find(again, "a").no });
    expect((await claimed(rig, "s1")).task.spec.id).toBe("b");
  });

  test("of one run leaves others alone, and one of a pool other pools", async () => {
    const rig = await openRig();
    const first = await rig.submit([agentTask("a")]);
    await rig.submit([agentTask("b"), agentTask("c", { pool: "others" })], { id: runId("run-2") });
    await hold(rig, { of: "run", run: first.no });
    await join(rig, "s1");
    await join(rig, "s2", { pool: "others" });
    expect((await claimed(rig, "s1")).task.spec.id).toBe("b");
    await hold(rig, { of: "pool", pool: "agents" });
    expect((await claimed(rig, "s2")).task.spec.id).toBe("c");
  });

  test("under another one lasts as long as both", async () => {
    const rig = await openRig();
    const run = await rig.submit([agentTask("a")]);
    await join(rig, "s1");
    await hold(rig, { of: "scheduler" });
    await hold(rig, { of: "run", run: run.no });
    await letGo(rig, { of: "scheduler" });
    expect(await claim(rig, "s1")).toBeUndefined();
    await letGo(rig, { of: "run", run: run.no });
    await claimed(rig, "s1");
  });

  test("holds what is submitted later, and a pool that was never named before", async () => {
    const rig = await openRig();
    await hold(rig, { of: "pool", pool: "later" });
    await rig.submit([agentTask("a", { pool: "later" })]);
    await join(rig, "s1", { pool: "later" });
    expect(await claim(rig, "s1")).toBeUndefined();
  });

  test("of a run ends with the run", async () => {
    const rig = await openRig();
    const run = await rig.submit([agentTask("a")]);
    await hold(rig, { of: "run", run: run.no });
    await hold(rig, { of: "task", run: run.no, task: find(run, "a").no });
    await hold(rig, { of: "scheduler" });
    await rig.ask({ kind: "cancel", run: run.manifest.id });
    expect([...rig.engine.world.pauses.keys()]).toEqual(["scheduler"]);
    expect((await rig.store.pauses()).map(({ scope }) => scope.of)).toEqual(["scheduler"]);
  });
});

describe("a drain", () => {
  const drain = (rig: Rig, scope: PauseScope, wait = 60, signal?: AbortSignal) =>
    rig.engine.api.drain(scope, asked, seconds(wait), signal);
  const named = (remaining: readonly { readonly task: { readonly spec: { readonly id: string } } }[]) =>
    remaining.map(({ task: { spec } }) => spec.id);

  test("is over as soon as nothing is out, and nothing new goes out meanwhile", async () => {
    const rig = await openRig({ workers: 1 });
    const run = await rig.submit([agentTask("a"), agentTask("b"), task("here"), task("there")]);
    await join(rig, "s1");
    const granted = await claimed(rig, "s1");
    let remaining: readonly string[] | undefined;
    void drain(rig, { of: "scheduler" }).then((left) => {
      remaining = named(left);
    });
    await rig.clock.advance(1_000);
    rig.machine.at("here").starts().succeeds();
    await rig.clock.advance(1_000);
    expect(remaining).toBeUndefined();
    await report(rig, granted, DONE);
    expect(remaining).toEqual([]);
    expect(statesOf(run)).toMatchObject({ b: "ready", there: "ready" });
    expect((await rig.store.events({})).at(-1)).toMatchObject({ kind: "drained", remaining: 0 });
  });

  test("that takes too long, or whose caller is gone, says what remains, and the pause stays", async () => {
    const rig = await openRig();
    const run = await rig.submit([agentTask("a"), agentTask("b")], {});
    await join(rig, "s1");
    await claimed(rig, "s1");
    const slow = drain(rig, { of: "pool", pool: "agents" });
    await rig.clock.advance(60_000);
    expect(named(await slow)).toEqual(["a"]);
    const gone = new AbortController();
    const left = drain(rig, { of: "run", run: run.no }, 60, gone.signal);
    await rig.clock.settle();
    gone.abort();
    expect(named(await rig.promised(left))).toEqual(["a"]);
    expect([...rig.engine.world.pauses.keys()]).toEqual(["pool/agents", "run/1"]);
    expect(named(await rig.promised(drain(rig, { of: "scheduler" }, 0)))).toEqual(["a"]);
  });

  test("of a task waits for all that its pause reaches: for what depends on it, too", async () => {
    const rig = await openRig();
    const run = await rig.submit([task("a"), task("b", { needs: ["a"] }), task("c")]);
    rig.machine.at("a").starts().succeeds();
    await rig.clock.settle();
    const scope = { of: "task", run: run.no, task: find(run, "a").no } as const;
    expect(named(await rig.promised(drain(rig, scope, 0)))).toEqual(["b"]);
    const drained = drain(rig, scope);
    await rig.clock.advance(1_000);
    rig.machine.at("b").starts().succeeds();
    expect(named(await rig.promised(drained))).toEqual([]);
  });

  test("of one thing does not wait for another", async () => {
    const rig = await openRig();
    await rig.submit([agentTask("a"), task("here")]);
    await join(rig, "s1");
    await claimed(rig, "s1");
    rig.machine.at("here").starts();
    expect(await rig.promised(drain(rig, { of: "pool", pool: "others" }))).toEqual([]);
  });
});
