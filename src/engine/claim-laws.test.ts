import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { brokenClaims, brokenGrants, overfull } from "../../test/rig/claim-laws.ts";
import { bringToAnEnd, PLAN_RESOURCES, type Played, play, scenarios } from "../../test/rig/claims.ts";
import { brokenLaws } from "../../test/rig/laws.ts";
import { always } from "../../test/rig/property.ts";
import { taskId } from "../domain/ids.ts";
import type { Task } from "../domain/task.ts";
import { replayAll } from "../store/replay.ts";
import { restoreRun } from "../store/rows.ts";
import { openSqliteStore } from "../store/sqlite/store.ts";

const RUNS = 150;

describe("whatever sessions, people and crashes do", () => {
  test("claims keep the laws: one holder, one end, fences that grow, slots, files, resources, offers and pauses", async () => {
    await always(
      RUNS,
      fc.asyncProperty(scenarios(), async (scenario) => {
        const played = await play(scenario, undefined, (each) => expect(overfull(each)).toEqual([]));
        const { rig, run } = played;
        const events = await rig.store.events({});
        expect(brokenLaws(run, events, PLAN_RESOURCES)).toEqual([]);
        expect(brokenClaims(run, events)).toEqual([]);
        expect(await brokenGrants(played)).toEqual([]);
      }),
    );
  });

  test("after every step the ledger adds up to the tables, and what is restored is what was alive", async () => {
    await always(
      RUNS / 2,
      fc.asyncProperty(scenarios(40), async (scenario) => {
        await play(scenario, undefined, async (played) => {
          await flushed(played);
          expect(await replayAll(played.rig.store)).toEqual([]);
          await isRestored(played);
        });
      }),
    );
  });

  test("the run comes to an end when people, machines and sessions do their part", async () => {
    await always(
      RUNS,
      fc.asyncProperty(scenarios(40), async (scenario) => {
        const played = await play(scenario);
        await bringToAnEnd(played);
        expect(played.broken).toEqual([]);
        expect(played.run.status.state).toBe("finished");
      }),
    );
  });

  test("a file keeps it as memory does", async () => {
    await always(
      RUNS / 5,
      fc.asyncProperty(scenarios(), async (scenario) => {
        await using store = openSqliteStore(":memory:");
        const inFile = await play(scenario, store);
        const inMemory = await play(scenario);
        for (const played of [inFile, inMemory]) await flushed(played);
        expect(await replayAll(store)).toEqual([]);
        expect(await store.events({})).toEqual(await inMemory.rig.store.events({}));
        expect(await store.load(inFile.run.no)).toEqual(await inMemory.rig.store.load(inFile.run.no));
        expect(await store.sessions()).toEqual(await inMemory.rig.store.sessions());
        expect(await store.pauses()).toEqual(await inMemory.rig.store.pauses());
        expect(await brokenGrants(inFile)).toEqual([]);
      }),
    );
  });
});

test("these histories are rich enough to be worth the name", async () => {
  const kinds = new Set<string>();
  for (const scenario of fc.sample(scenarios(), { numRuns: 300, seed: 1 })) {
    const { rig } = await play(scenario);
    for (const { kind } of await rig.store.events({})) kinds.add(kind);
  }
  expect([...kinds].sort()).toEqual(expect.arrayContaining(EVERY_KIND));
});

const EVERY_KIND = [
  ...["cancelled", "claimed", "edited", "expired", "failed", "late_report_refused", "noted", "offer_ended", "offered"],
  ...["parked", "paused", "released", "requeued", "resumed", "retried", "session_changed", "session_joined"],
  ...["session_left", "spawn_asked", "started", "starved", "starving", "stopping", "succeeded"],
];

/** Events that are not urgent are written together with an urgent one, such as the answer to a person. */
const flushed = ({ rig, run }: Played): Promise<void> =>
  rig.ask({ kind: "approve", run: run.manifest.id, task: taskId("absent") });

async function isRestored({ rig, run }: Played): Promise<void> {
  const stored = await rig.store.load(run.no);
  const restored = stored && restoreRun(stored.row, stored.specs, stored.tasks);
  const seen = (task: Task): Task => ({ ...task });
  expect(restored?.tasks.map(seen)).toEqual(run.tasks.map(seen));
  expect(restored?.counts).toEqual(run.counts);
  const { sessions, pauses } = rig.engine.world;
  const inOrder = (a: string, b: string): number => (a < b ? -1 : 1);
  expect((await rig.store.sessions()).map(({ profile }) => profile.id).sort(inOrder)).toEqual(
    [...sessions.keys()].sort(inOrder),
  );
  for (const session of await rig.store.sessions()) expect(sessions.get(session.profile.id)).toEqual(session);
  expect(await rig.store.pauses()).toEqual([...pauses].sort(([a], [b]) => inOrder(a, b)).map(([, pause]) => pause));
}
