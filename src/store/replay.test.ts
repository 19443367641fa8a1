import { describe, expect, test } from "vitest";
import { success, task } from "../../test/rig/builders.ts";
import { openRig, type Rig } from "../../test/rig/rig.ts";
import { profile } from "../../test/rig/sessions.ts";
import type { Event } from "../domain/event.ts";
import { runId } from "../domain/ids.ts";
import { runNo } from "../domain/run.ts";
import type { Session } from "../domain/sessions/session.ts";
import type { Task } from "../domain/task.ts";
import { millis } from "../domain/time.ts";
import type { Pause } from "../domain/waiting/pause.ts";
import { replayAll, replayRun, replayRuns } from "./replay.ts";
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

/** The same store, with rows or a ledger that were tampered with. */
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

const RUNS = 20;
const EVERY = Array.from({ length: RUNS }, (_, at) => runNo(at + 1));

describe("ledger and tables", () => {
  test("agree when neither was changed from outside", async () => {
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

  test("disagree about who is there, in every field", async () => {
    const rig = await twoRuns();
    await rig.promised(rig.engine.api.join(profile("s1")));
    await rig.promised(rig.engine.api.join(profile("s2")));
    await rig.promised(rig.engine.api.beat("s1", "busy"));
    await rig.promised(rig.engine.api.leave("s2", "enough"));
    expect(await replayAll(rig.store)).toEqual([]);
    const [kept] = (await rig.store.sessions()) as [Session];
    const asIf = (sessions: readonly Session[]): Store => ({ ...rig.store, sessions: async () => sessions });
    expect(await replayAll(asIf([{ ...kept, losses: 2 }]))).toEqual([
      "session s1: losses is 0 by the ledger and 2 by the table.",
    ]);
    expect(await replayAll(asIf([]))).toEqual(["session s1: the table does not have it."]);
    expect(await replayAll(asIf([kept, { ...kept, profile: profile("s2") }]))).toEqual([
      "session s2: the ledger does not know it.",
    ]);
  });

  test("disagree about what is on hold", async () => {
    const rig = await twoRuns();
    const asked = { by: "mo" };
    await rig.promised(rig.engine.api.hold({ of: "run", run: runNo(1) }, asked));
    await rig.promised(rig.engine.api.hold({ of: "scheduler" }, asked));
    await rig.promised(rig.engine.api.letGo({ of: "scheduler" }, asked));
    expect(await replayAll(rig.store)).toEqual([]);
    const asIf = (pauses: readonly Pause[]): Store => ({ ...rig.store, pauses: async () => pauses });
    expect(await replayAll(asIf([]))).toEqual(["pause run/1: the table does not have it."]);
    const [kept] = (await rig.store.pauses()) as [Pause];
    expect(await replayAll(asIf([{ ...kept, asked: { by: "eve" } }]))).toEqual([
      'pause run/1: asked is {"by":"mo"} by the ledger and {"by":"eve"} by the table.',
    ]);
  });

  test("disagree about what a person has changed", async () => {
    const rig = await openRig();
    const run = await rig.submit([task("a"), task("b", { needs: ["a"] })]);
    const edited = { title: "New" };
    await rig.promised(rig.engine.api.edit(run, run.tasks[1] as Task, edited, { by: "mo" }));
    expect(await replayAll(rig.store)).toEqual([]);
    const load: Store["load"] = async (no) => {
      const stored = await rig.store.load(no);
      return stored && { ...stored, specs: [task("a"), task("b", { needs: ["a"], title: "Old" })] };
    };
    expect(await replayAll({ ...rig.store, load })).toEqual([
      'run 1, task b: title is "New" by the ledger and "Old" by the table.',
    ]);
  });

  test.each([["all", replayAll] as const, ["some", (store: Store) => replayRuns(store, EVERY)] as const])(
    "are compared by going through the ledger a few times, however many runs there are (%s)",
    async (_, replay) => {
      const rig = await openRig({ workers: RUNS });
      for (const no of EVERY) await rig.submit([task("a")], { id: runId(`run-${no}`) });
      let [reads, events] = [0, 0];
      const counting: Store = {
        ...rig.store,
        async events(query) {
          const found = await rig.store.events(query);
          reads++;
          events += found.length;
          return found;
        },
      };
      expect([...(await replay(counting)).values()].flat()).toEqual([]);
      expect(reads).toBeLessThanOrEqual(4);
      expect(events).toBeLessThanOrEqual(2 * (await rig.store.lastSeq()) + 2);
    },
  );

  test("may differ in the deadline of a lease, which is renewed without a word", async () => {
    const rig = await twoRuns();
    await rig.clock.advance(60_000);
    expect(await replayAll(rig.store)).toEqual([]);
  });
});
