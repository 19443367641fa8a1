/** The reports of a local worker: the same as those of a session, by the same way into the ledger. */
import { expect, test } from "vitest";
import { task } from "../../test/rig/builders.ts";
import { openRig, type Rig } from "../../test/rig/rig.ts";
import type { Usage } from "../domain/amounts/usage.ts";
import type { Run } from "../domain/run.ts";
import { millis, seconds } from "../domain/time.ts";

const notesOf = async (rig: Rig, run: Run): Promise<readonly string[]> =>
  (await rig.eventsOf(run, "a")).flatMap((event) => (event.kind === "noted" ? [event.note] : []));

test("what an attempt said last goes into the ledger with each renewal of its lease, and before its end", async () => {
  const rig = await openRig({ heartbeat: seconds(5) });
  const run = await rig.submit([task("a")]);
  const attempt = rig.machine.at("a").starts().says("read").says("half of it");
  await rig.clock.advance(seconds(5));
  expect(await notesOf(rig, run)).toEqual(["half of it"]);
  await rig.clock.advance(seconds(20));
  expect(await notesOf(rig, run)).toEqual(["half of it"]);
  attempt.says("nearly").says("done").succeeds();
  await rig.clock.settle();
  expect((await rig.eventsOf(run, "a")).map(({ kind }) => kind)).toEqual([
    ...["claimed", "started", "noted", "noted", "succeeded"],
  ]);
  expect(await notesOf(rig, run)).toEqual(["half of it", "done"]);
});

test("an attempt that talks is not silent", async () => {
  const rig = await openRig();
  const run = await rig.submit([task("a", { progress: seconds(10) })]);
  const attempt = rig.machine.at("a").starts();
  for (const text of ["one", "two", "three"]) {
    await rig.clock.advance(seconds(8));
    attempt.says(text);
  }
  const kinds = async () => (await rig.eventsOf(run, "a")).map(({ kind }) => kind);
  expect(await kinds()).not.toContain("silent");
  await rig.clock.advance(seconds(11));
  expect(await kinds()).toContain("silent");
});

test("what came of it, and what it used, is kept with its end", async () => {
  const rig = await openRig();
  const run = await rig.submit([task("a")]);
  const usage: Usage = {
    cpuMs: { amount: 12, source: "measured" },
    outputTokens: { amount: 900, source: "reported" },
  };
  const outcome = { kind: "success", durationMs: millis(5), summary: "two files", usage } as const;
  rig.machine.at("a").starts().ends(outcome);
  await rig.clock.settle();
  expect((await rig.eventsOf(run, "a")).at(-1)).toMatchObject({ kind: "succeeded", outcome });
});
