import { describe, expect, test } from "vitest";
import { exit, success, task } from "../../test/rig/builders.ts";
import { find, openRig, type Rig, statesOf } from "../../test/rig/rig.ts";
import { claim, DONE, join, refusal, report } from "../../test/rig/sessions.ts";
import type { TaskSpec } from "../domain/spec.ts";
import { millis, seconds } from "../domain/time.ts";

const VERIFY: Partial<TaskSpec> = { verify: { shell: "npm test" } };
const kinds = async (rig: Rig, run: Parameters<Rig["eventsOf"]>[0], id: string) =>
  (await rig.eventsOf(run, id)).map(({ kind }) => kind);

/** The work of `a` is done, and its acceptance command has begun. */
async function atVerifying(rest: Partial<TaskSpec> = {}) {
  const rig = await openRig({ workers: 1 });
  const run = await rig.submit([task("a", { ...VERIFY, ...rest }), task("b", { needs: ["a"] })]);
  rig.machine.at("a").starts().succeeds();
  await rig.clock.settle();
  return { rig, run };
}

describe("a task that says how it is verified", () => {
  test("is verified by the scheduler when its work is done, and succeeds when the command agrees", async () => {
    const { rig, run } = await atVerifying();
    expect(statesOf(run)).toEqual({ a: "verifying", b: "blocked" });
    expect(rig.machine.at("a").attempt).toMatchObject({ fence: 1, verification: 1, work: { shell: "npm test" } });
    rig.machine.at("a").starts().succeeds();
    await rig.clock.settle();
    expect(statesOf(run)).toEqual({ a: "succeeded", b: "claimed" });
    expect(await kinds(rig, run, "a")).toEqual(["claimed", "started", "verifying", "started", "succeeded"]);
  });

  test("fails with what the command says when it does not agree", async () => {
    const { rig, run } = await atVerifying();
    rig.machine.at("a").starts().ends(exit(3));
    await rig.clock.settle();
    expect(find(run, "a").status).toMatchObject({ state: "failed", outcome: { kind: "verify", code: 3 } });
  });

  test("is not verified when its work failed", async () => {
    const rig = await openRig();
    const run = await rig.submit([task("a", VERIFY)]);
    rig.machine.at("a").starts().fails();
    await rig.clock.settle();
    expect(await kinds(rig, run, "a")).toEqual(["claimed", "started", "failed"]);
  });

  test("frees its worker and keeps its files meanwhile", async () => {
    const rig = await openRig({ workers: 1 });
    const run = await rig.submit([
      task("a", { ...VERIFY, writes: ["src/"] }),
      task("same", { writes: ["src/a"] }),
      task("other"),
    ]);
    rig.machine.at("a").starts().succeeds();
    await rig.clock.settle();
    expect(statesOf(run)).toEqual({ a: "verifying", same: "ready", other: "claimed" });
    rig.machine.at("other").starts().succeeds();
    rig.machine.at("a").starts().succeeds();
    await rig.clock.settle();
    expect(statesOf(run)).toEqual({ a: "succeeded", same: "claimed", other: "succeeded" });
  });

  test("has its time-outs anew for the command", async () => {
    const { rig, run } = await atVerifying({ timeout: { hard: seconds(10) } });
    await rig.clock.advance(seconds(60));
    expect(rig.machine.at("a").stops).toEqual([]);
    rig.machine.at("a").starts();
    await rig.clock.advance(seconds(10));
    expect(rig.machine.at("a").stops).toMatchObject([{ reason: { kind: "timeout", limit: "hard" } }]);
    rig.machine.at("a").obeys();
    await rig.clock.settle();
    expect(find(run, "a").status).toMatchObject({ state: "failed", outcome: { kind: "timeout" } });
  });

  test("is cancelled while it is verified, and when it waits for that", async () => {
    const rig = await openRig({ workers: 1 });
    const run = await rig.submit([task("a", VERIFY), task("b", VERIFY)]);
    for (const id of ["a", "b"]) {
      rig.machine.at(id).starts().succeeds();
      await rig.clock.settle();
    }
    expect(statesOf(run)).toEqual({ a: "verifying", b: "verifying" });
    expect(rig.machine.processes.filter(({ attempt }) => attempt.verification !== undefined)).toHaveLength(1);
    await rig.ask({ kind: "cancel", run: run.manifest.id });
    expect(statesOf(run)).toEqual({ a: "verifying", b: "cancelled" });
    rig.machine.at("a").obeys();
    await rig.clock.settle();
    expect(statesOf(run)).toEqual({ a: "cancelled", b: "cancelled" });
  });

  test("is verified in its turn when as many commands run as there are workers", async () => {
    const rig = await openRig({ workers: 1 });
    const run = await rig.submit([task("a", VERIFY), task("b", VERIFY)]);
    for (const id of ["a", "b"]) {
      rig.machine.at(id).starts().succeeds();
      await rig.clock.settle();
    }
    rig.machine.at("a").starts().succeeds();
    await rig.clock.settle();
    rig.machine.at("b").starts().succeeds();
    await rig.clock.settle();
    expect(statesOf(run)).toEqual({ a: "succeeded", b: "succeeded" });
  });
});

describe("verifying outlives its scheduler:", () => {
  test("a command that runs on is taken over", async () => {
    const { rig, run } = await atVerifying();
    rig.crash();
    const again = await rig.resume(run.no);
    expect(statesOf(again)).toEqual({ a: "verifying", b: "blocked" });
    rig.machine.at("a").starts().succeeds();
    await rig.clock.settle();
    expect(statesOf(again)).toMatchObject({ a: "succeeded" });
    expect(rig.machine.started).toEqual(["a", "a", "b"]);
  });

  test("a command that is gone is run again, and the work is not", async () => {
    const { rig, run } = await atVerifying();
    rig.crash();
    rig.machine.loseAll();
    const again = await rig.resume(run.no);
    expect(rig.machine.at("a").attempt).toMatchObject({ fence: 1, verification: 2 });
    rig.machine.at("a").starts().succeeds();
    await rig.clock.settle();
    expect(statesOf(again)).toMatchObject({ a: "succeeded" });
    expect(await kinds(rig, again, "a")).toEqual([
      "claimed",
      "started",
      "verifying",
      "verifying",
      "started",
      "succeeded",
    ]);
  });

  test("a command that is lost again and again costs the work", async () => {
    const { rig, run } = await atVerifying();
    for (let at = 0; at < 3; at++) {
      rig.machine
        .at("a")
        .starts()
        .ends({ kind: "lost", durationMs: millis(1) });
      await rig.clock.settle();
    }
    expect(await kinds(rig, run, "a")).toContain("expired");
  });

  test("a command that a stopping scheduler ended is run again by the next", async () => {
    const { rig, run } = await atVerifying();
    rig.engine.stopAll();
    await rig.clock.settle();
    rig.machine.at("a").obeys();
    await rig.clock.settle();
    expect(statesOf(run)).toMatchObject({ a: "verifying" });
    rig.crash();
    await rig.resume(run.no);
    expect(rig.machine.at("a").attempt).toMatchObject({ verification: 3 });
  });
});

describe("work that a session did", () => {
  async function completed() {
    const rig = await openRig();
    await join(rig, "s1", { pool: "agents" });
    const run = await rig.submit([task("a", { ...VERIFY, pool: "agents" }), task("b", { pool: "agents" })]);
    const granted = await claim(rig, "s1");
    if (granted === undefined) throw new Error("there was nothing to claim");
    await report(rig, granted, DONE);
    return { rig, run, granted };
  }

  test("is verified too, while the session goes on with something else", async () => {
    const { rig, run } = await completed();
    expect(statesOf(run)).toMatchObject({ a: "verifying" });
    expect(await claim(rig, "s1")).toMatchObject({ task: { spec: { id: "b" } } });
    rig.machine.at("a").starts().ends(exit(1));
    await rig.clock.settle();
    expect(find(run, "a").status).toMatchObject({ outcome: { kind: "verify", code: 1 } });
  });

  test("is the session's no more: it hears what has become of it, and only the same word twice is heard", async () => {
    const { rig, granted } = await completed();
    expect(await report(rig, granted, DONE)).toMatchObject({ repeated: true, held: undefined });
    expect(await refusal(report(rig, granted, { kind: "heartbeat" }))).toBe("LEASE_LOST");
  });
});

test("the work's success is told with what both have taken", async () => {
  const { rig, run } = await atVerifying();
  rig.machine
    .at("a")
    .starts()
    .ends({ ...success, durationMs: millis(30) });
  await rig.clock.settle();
  expect(find(run, "a").status).toMatchObject({
    state: "succeeded",
    outcome: { durationMs: success.durationMs + 30 },
  });
});
