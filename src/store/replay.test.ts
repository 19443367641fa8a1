import { describe, expect, test } from "vitest";
import { success, task } from "../../test/rig/builders.ts";
import { openRig, type Rig } from "../../test/rig/rig.ts";
import type { Event } from "../domain/event.ts";
import { runId } from "../domain/ids.ts";
import { runNo } from "../domain/run.ts";
import { millis } from "../domain/time.ts";
import { replayAll, replayRun } from "./replay.ts";
import type { TaskRow } from "./rows.ts";
import type { Store } from "./store.ts";

/** A run of which one task is done, one runs, and one waits; and another run. */
async function twoRuns(): Promise<Rig> {
  const rig = await openRig({ workers: 2 });
  await rig.submit([task("a"), task("b"), task("c", { needs: ["a", "b"] })]);
  rig.machine.at("a").starts().succeeds();
  rig.machine.at("b").starts();
  await rig.clock.advance(20);
  await rig.submit([task("d")], { id: runId("run-2") });
  return rig;
}

/** The same store, seen through somebody who has tampered with its rows or its ledger. */
const tampered = (
  store: Store,
  change: { row?: (row: TaskRow) => TaskRow; events?: (events: readonly Event[]) => readonly Event[] },
): Store => ({
  ...store,
  async load(no) {
    const stored = await store.load(no);
    return stored && { ...stored, tasks: stored.tasks.map(change.row ?? ((row) => row)) };
  },
  async events(query) {
    const events = await store.events(query);
    return change.events === undefined ? events : change.events(events);
  },
});

describe("ledger and tables", () => {
  test("agree when nobody has touched them", async () => {
    const { store } = await twoRuns();
    expect(await replayAll(store)).toEqual([]);
    expect(await replayRun(store, runNo(1))).toEqual([]);
    expect(await replayRun(store, runNo(2))).toEqual([]);
  });

  test("disagree when a row was changed, and it says which, and how", async () => {
    const { store } = await twoRuns();
    const row = (each: TaskRow): TaskRow =>
      each.task === 0 ? { ...each, failures: 1, detail: { outcome: { ...success, durationMs: millis(9) } } } : each;
    expect(await replayRun(tampered(store, { row }), runNo(1))).toEqual([
      "run 1, task a: failures is 0 by the ledger and 1 by the table.",
      'run 1, task a: detail is {"outcome":{"kind":"success","durationMs":5}} by the ledger and {"outcome":{"kind":"success","durationMs":9}} by the table.',
    ]);
  });

  test("disagree when a row says that something was not done, and about all that waits for it", async () => {
    const { store } = await twoRuns();
    const row = (each: TaskRow): TaskRow => (each.task === 0 ? { ...each, state: "cancelled", detail: null } : each);
    expect(await replayRun(tampered(store, { row }), runNo(1))).toEqual([
      'run 1, task a: state is "succeeded" by the ledger and "cancelled" by the table.',
      'run 1, task a: detail is {"outcome":{"kind":"success","durationMs":5}} by the ledger and null by the table.',
      "run 1, task c: unmet is 1 by the ledger and 2 by the table.",
    ]);
  });

  test("disagree when an event is missing", async () => {
    const { store } = await twoRuns();
    const events = (list: readonly Event[]) => list.filter(({ kind }) => kind !== "succeeded");
    expect(await replayRun(tampered(store, { events }), runNo(1))).toContain(
      'run 1, task a: state is "running" by the ledger and "succeeded" by the table.',
    );
    expect((await replayAll(tampered(store, { events })))[0]).toMatch(/^ledger: event \d+ follows \d+\.$/);
  });

  test("disagree when what the ledger tells cannot have happened", async () => {
    const { store } = await twoRuns();
    const events = (list: readonly Event[]) => list.filter(({ kind }) => kind !== "claimed");
    expect(await replayRun(tampered(store, { events }), runNo(1))).toEqual(["run 1: a: event 2 follows 0."]);
  });

  test("disagree when a row lacks what its state must have", async () => {
    const { store } = await twoRuns();
    const row = (each: TaskRow): TaskRow => ({ ...each, worker: null });
    expect(await replayRun(tampered(store, { row }), runNo(1))).toEqual(["run 1: a held row has its lease."]);
  });

  test("disagree about a run that only one of them has", async () => {
    const { store } = await twoRuns();
    expect(await replayRun(tampered(store, { events: () => [] }), runNo(1))).toEqual([
      "run 1: the ledger does not know it.",
    ]);
    expect(await replayRun(store, runNo(9))).toEqual(["There is no run 9."]);
  });

  test("may differ in the deadline of a lease, which is renewed without a word", async () => {
    const rig = await twoRuns();
    await rig.clock.advance(60_000);
    expect(await replayAll(rig.store)).toEqual([]);
  });
});
