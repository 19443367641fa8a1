import { describe, expect, test } from "vitest";
import { task } from "../../test/rig/builders.ts";
import { find, openRig, statesOf } from "../../test/rig/rig.ts";
import { agentTask, BACK, claim, claimed, DONE, join, refusal, report, waiting } from "../../test/rig/sessions.ts";
import { gatedStore } from "../../test/rig/stores.ts";
import { runId, taskId } from "../domain/ids.ts";
import { millis, seconds } from "../domain/time.ts";
import { openMemoryStore } from "../store/memory/store.ts";

describe("a claim", () => {
  test("gives the next task: run, task, fence, token, and until when", async () => {
    const rig = await openRig();
    const run = await rig.submit([agentTask("low", { priority: "low" }), agentTask("high", { priority: "critical" })]);
    await join(rig, "s1");
    const granted = await claimed(rig, "s1");
    expect(granted).toMatchObject({ run, task: find(run, "high"), fence: 1, ttl: 300_000 });
    expect(granted.deadline).toBe(rig.clock.now() + 300_000);
    expect(granted.token.length).toBeGreaterThan(40);
    expect(statesOf(run)).toEqual({ low: "ready", high: "claimed" });
  });

  test("of one task gives that one, whatever else waits", async () => {
    const rig = await openRig();
    const run = await rig.submit([agentTask("a"), agentTask("b")]);
    await join(rig, "s1");
    expect((await claimed(rig, "s1", { run: run.manifest.id, task: taskId("b") })).task).toBe(find(run, "b"));
  });

  test("of a task that cannot be had says what stands in its way", async () => {
    const rig = await openRig();
    const run = await rig.submit([
      agentTask("a"),
      agentTask("b", { needs: ["a"] }),
      agentTask("c", { requires: ["gpu"] }),
    ]);
    await join(rig, "s1");
    const exact = (id: string) => rig.promised(rig.engine.api.claim(wantedOf(id)));
    const wantedOf = (id: string) => ({ session: "s1", run: run.manifest.id, task: taskId(id), wait: millis(0) });
    await expect(exact("b")).rejects.toMatchObject({
      code: "NOT_CLAIMABLE",
      message: expect.stringContaining("needs"),
    });
    await expect(exact("c")).rejects.toMatchObject({ message: expect.stringContaining("no-match") });
    await expect(exact("absent")).rejects.toMatchObject({ code: "TASK_UNKNOWN" });
  });

  test("takes nothing less urgent than was asked for, and nothing of another run", async () => {
    const rig = await openRig();
    await rig.submit([agentTask("a"), agentTask("b", { priority: "high" })]);
    const other = await rig.submit([agentTask("c", { priority: "low" })], { id: runId("run-2") });
    for (const id of ["s1", "s2", "s3"]) await join(rig, id);
    expect((await claimed(rig, "s1", { priority: "high" })).task.spec.id).toBe("b");
    expect(await claim(rig, "s2", { priority: "high" })).toBeUndefined();
    expect((await claimed(rig, "s2", { run: other.manifest.id })).task.spec.id).toBe("c");
    expect(await claim(rig, "s3", { run: other.manifest.id })).toBeUndefined();
  });

  test("is for those whose work it is: pool, workspace, channel, session, capabilities", async () => {
    const rig = await openRig();
    await rig.submit([
      agentTask("elsewhere", { pool: "others" }),
      agentTask("placed", { workspace: "/w" }),
      agentTask("tuned", { workspace: "/w", channel: "c" }),
      agentTask("owned", { workspace: "/w", session: "s9" }),
      agentTask("skilled", { workspace: "/w", requires: ["gpu", "rust"] }),
      task("local"),
    ]);
    const given = async (id: string, rest: Parameters<typeof join>[2]) => {
      await join(rig, id, { slots: 9, ...rest });
      const all: string[] = [];
      for (let granted = await claim(rig, id); granted !== undefined; granted = await claim(rig, id))
        all.push(granted.task.spec.id);
      return all;
    };
    expect(await given("global", {})).toEqual([]);
    expect(await given("s9", { workspace: "/w", capabilities: ["gpu"] })).toEqual(["placed", "owned"]);
    expect(await given("listener", { workspace: "/w", channel: "c" })).toEqual(["tuned"]);
    expect(await given("able", { workspace: "/w", capabilities: ["rust", "gpu", "go"] })).toEqual(["skilled"]);
    expect(await given("other", { pool: "others" })).toEqual(["elsewhere"]);
  });

  test("is refused to who is not known, and to who has its hands full", async () => {
    const rig = await openRig();
    await rig.submit(["a", "b", "c", "d"].map((id) => agentTask(id)));
    expect(await refusal(claim(rig, "absent"))).toBe("SESSION_UNKNOWN");
    await join(rig, "s1");
    await claimed(rig, "s1");
    expect(await refusal(claim(rig, "s1"))).toBe("SLOTS_TAKEN");
    await join(rig, "s2", { slots: 2 });
    await claimed(rig, "s2");
    await claimed(rig, "s2");
    expect(await refusal(claim(rig, "s2"))).toBe("SLOTS_TAKEN");
    await expect(rig.promised(claim(rig, "s2"))).rejects.toThrow(
      /^Session s2 holds b \(run .*\), c \(run .*\) already$/,
    );
  });

  test("gives no session more than its slots, also when it comes back with fewer", async () => {
    const rig = await openRig();
    await rig.submit(["a", "b", "c", "d"].map((id) => agentTask(id)));
    await join(rig, "s1", { slots: 2 });
    const first = await claimed(rig, "s1");
    await claimed(rig, "s1");
    await join(rig, "s1", { slots: 1 });
    await report(rig, first, DONE);
    expect(await refusal(claim(rig, "s1"))).toBe("SLOTS_TAKEN");
  });

  test("does not count slots twice over two pools: who holds something cannot move", async () => {
    const rig = await openRig();
    await rig.submit([agentTask("a"), agentTask("b", { pool: "others" })]);
    await join(rig, "s1");
    const granted = await claimed(rig, "s1");
    expect(await refusal(join(rig, "s1", { pool: "others" }))).toBe("SLOTS_TAKEN");
    await rig.promised(rig.engine.api.leave("s1", "and come back"));
    expect(await refusal(join(rig, "s1", { pool: "others" }))).toBe("SLOTS_TAKEN");
    await report(rig, granted, BACK);
    await join(rig, "s1", { pool: "others" });
    expect((await claimed(rig, "s1")).task.spec.id).toBe("b");
  });

  test("of other sessions is not held back by what a session took with it when it left", async () => {
    const rig = await openRig();
    await rig.submit([agentTask("a"), agentTask("b")]);
    await join(rig, "s1");
    await join(rig, "s2");
    await claimed(rig, "s1");
    await rig.promised(rig.engine.api.leave("s1", "enough"));
    expect((await claimed(rig, "s2")).task.spec.id).toBe("b");
  });
});

describe("a key", () => {
  test("gives the same grant again, and no second task", async () => {
    const rig = await openRig();
    const run = await rig.submit([agentTask("a"), agentTask("b")]);
    await join(rig, "s1", { slots: 2 });
    const first = await claimed(rig, "s1", { key: "k" });
    expect(await claimed(rig, "s1", { key: "k" })).toEqual(first);
    expect(run.counts).toMatchObject({ claimed: 1, ready: 1 });
    expect((await claimed(rig, "s1", { key: "other" })).task).not.toBe(first.task);
  });

  test("gives the same grant after a restart, with the same token", async () => {
    const rig = await openRig();
    const run = await rig.submit([agentTask("a"), agentTask("b")]);
    await join(rig, "s1");
    const first = await claimed(rig, "s1", { key: "k" });
    rig.crash();
    const again = await rig.resume(run.no);
    const second = await claimed(rig, "s1", { key: "k" });
    expect(second).toMatchObject({ fence: first.fence, token: first.token, task: find(again, first.task.spec.id) });
    await report(rig, first, DONE);
    expect(find(again, first.task.spec.id).status.state).toBe("succeeded");
  });

  test("is the session's own, however the two are written together", async () => {
    const rig = await openRig();
    await rig.submit([agentTask("a"), agentTask("b")]);
    await join(rig, "s/1");
    await join(rig, "s");
    const first = await claimed(rig, "s/1", { key: "k" });
    const second = await claimed(rig, "s", { key: "1/k" });
    expect(second.task).not.toBe(first.task);
  });

  test("answers two who wait under it with the one grant", async () => {
    const rig = await openRig();
    await join(rig, "s1");
    await join(rig, "s2");
    const lost = await waiting(rig, "s1", { key: "k" });
    const again = await waiting(rig, "s1", { key: "k" });
    const other = await waiting(rig, "s2");
    await rig.submit([agentTask("a"), agentTask("b")]);
    expect(lost.granted?.task.spec.id).toBe("a");
    expect(again.granted).toEqual(lost.granted);
    expect(other.granted?.task.spec.id).toBe("b");
  });

  test("of what has ended with its run says so", async () => {
    const rig = await openRig({ forgets: true });
    await rig.submit([agentTask("a")]);
    await join(rig, "s1");
    await report(rig, await claimed(rig, "s1", { key: "k" }), DONE);
    expect(await refusal(claim(rig, "s1", { key: "k" }))).toBe("LEASE_LOST");
  });
});

describe("a claim that waits", () => {
  test("is answered as soon as there is something, once, in the order of asking", async () => {
    const rig = await openRig();
    await join(rig, "s1");
    await join(rig, "s2");
    const [first, second] = [await waiting(rig, "s1"), await waiting(rig, "s2")];
    await rig.submit([agentTask("a")]);
    expect([first.granted?.task.spec.id, second.done]).toEqual(["a", false]);
    await rig.clock.advance(60_000);
    expect(second).toMatchObject({ done: true, granted: undefined });
  });

  test("is answered with what another session hands back, and with what a need's end opens", async () => {
    const rig = await openRig();
    await rig.submit([agentTask("a"), agentTask("b", { needs: ["a"] })]);
    await join(rig, "s1");
    await join(rig, "s2");
    const held = await claimed(rig, "s1");
    const waits = await waiting(rig, "s2");
    await report(rig, held, BACK);
    expect(waits.granted?.task.spec.id).toBe("a");
    const next = await waiting(rig, "s1");
    await report(rig, waits.granted as never, DONE);
    expect(next.granted?.task.spec.id).toBe("b");
  });

  test("of a session whose slots are taken by now does not hold up others like it", async () => {
    const rig = await openRig();
    await join(rig, "s1");
    await join(rig, "s2");
    await waiting(rig, "s1");
    const double = await waiting(rig, "s1");
    const other = await waiting(rig, "s2");
    await rig.submit([agentTask("a"), agentTask("b")]);
    expect(double.done).toBe(false);
    expect(other.granted?.task.spec.id).toBe("b");
  });

  test("finds what is edited to be its own", async () => {
    const rig = await openRig();
    const run = await rig.submit([agentTask("a", { session: "absent" })]);
    await join(rig, "s1");
    await join(rig, "s2");
    const [first, second] = [await waiting(rig, "s1"), await waiting(rig, "s2")];
    await rig.promised(rig.engine.api.edit(run, find(run, "a"), { session: "s2" }, { by: "mo" }));
    expect([first.done, second.granted?.task.spec.id]).toEqual([false, "a"]);
  });

  test("is not served while its session waits for a person, nor when it cannot be trusted any more", async () => {
    const rig = await openRig();
    await join(rig, "s1", { slots: 2 });
    const waits = await waiting(rig, "s1", { wait: seconds(3_600) });
    await rig.promised(rig.engine.api.beat("s1", "prompting"));
    await rig.submit([agentTask("a")]);
    expect(waits.done).toBe(false);
    await rig.promised(rig.engine.api.beat("s1", "idle"));
    expect(waits.granted?.task.spec.id).toBe("a");
  });

  test("ends with its caller, and takes nothing along", async () => {
    const rig = await openRig();
    await join(rig, "s1");
    const gone = new AbortController();
    const waits = await waiting(rig, "s1", { signal: gone.signal });
    gone.abort();
    const run = await rig.submit([agentTask("a")]);
    expect(waits).toMatchObject({ done: true, granted: undefined });
    expect(await claim(rig, "s1", { signal: gone.signal, wait: seconds(9) })).toBeUndefined();
    expect(statesOf(run)).toEqual({ a: "ready" });
  });

  test("that could not be looked at in time is looked at once, and what it is given is not lost", async () => {
    const store = gatedStore(openMemoryStore());
    const rig = await openRig({ store });
    const run = await rig.submit([agentTask("a")]);
    await join(rig, "s1");
    store.close();
    const beat = rig.engine.api.beat("s1", "busy");
    await rig.clock.settle();
    const asked = rig.engine.api.claim({ session: "s1", wait: millis(5) });
    await rig.clock.advance(50);
    store.open();
    await rig.promised(beat);
    expect((await rig.promised(asked))?.task).toBe(find(run, "a"));
  });

  test("is told that nothing comes when the scheduler stops", async () => {
    const rig = await openRig();
    await join(rig, "s1");
    const waits = await waiting(rig, "s1");
    rig.crash();
    await rig.clock.settle();
    expect(waits).toMatchObject({ done: true, granted: undefined });
  });
});
