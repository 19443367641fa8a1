import { expect, onTestFinished, test } from "vitest";
import { task } from "../../../test/rig/builders.ts";
import { openRig, type Rig } from "../../../test/rig/rig.ts";
import { runId } from "../../domain/ids.ts";
import { openMemoryStore } from "../../store/memory/store.ts";
import type { Store } from "../../store/store.ts";
import { stateDir } from "../config/state.ts";
import { lookOf } from "./read.ts";

/** What the daemon shows of a scheduler that the test controls, and what it reads from the store for that. */
async function looking(workers = 1) {
  const asked: string[] = [];
  const store = openMemoryStore();
  const counting: Store = {
    ...store,
    events: (query) => store.events(query).finally(() => asked.push(`events ${query.run ?? ""}`)),
    load: (no) => store.load(no).finally(() => asked.push(`load ${no}`)),
  };
  const rig = await openRig({ forgets: true, workers, capacity: { cpu: 2_000 }, store: counting });
  const { engine, clock } = rig;
  const scheduler = { engine, clock, store: counting } as unknown as Parameters<typeof lookOf>[0]["scheduler"];
  return { rig, asked, look: lookOf({ scheduler, state: stateDir("/none"), socket: "", version: "0" }) };
}

const submitMany = async (rig: Rig, ...ids: readonly string[]): Promise<void> => {
  for (const id of ids) await rig.submit([task(`${id}-task`, { resources: { cpu: 500 } })], { id: runId(id) });
};

test("who follows one run is not woken by what is committed about others", async () => {
  const { rig, look, asked } = await looking(2);
  await submitMany(rig, "one", "two");
  const seen: string[] = [];
  const over = new AbortController();
  onTestFinished(() => over.abort());
  const request = { run: "one", after: 0, limit: 1_000, follow: true };
  void look.follow(request, ({ kind }) => seen.push(String(kind)), over.signal);
  await rig.clock.settle();
  expect(seen).toEqual(["run_submitted", "claimed"]);
  asked.length = 0;
  rig.machine.at("two-task").starts().succeeds();
  await rig.clock.advance(20);
  expect(asked).toEqual([]);
  rig.machine.at("one-task").starts().succeeds();
  await rig.clock.advance(20);
  expect(seen).toEqual(["run_submitted", "claimed", "started", "succeeded", "run_finished"]);
});

test("a run that has ended is shown without reading those that have not", async () => {
  const { rig, look, asked } = await looking();
  await submitMany(rig, "one");
  rig.machine.at("one-task").starts().succeeds();
  await rig.clock.advance(20);
  await submitMany(rig, "two", "three");
  asked.length = 0;
  // The use of shared resources by other runs is still shown.
  const resources = [{ name: "cpu", capacity: 2_000, used: 500 }];
  expect(await look.status("one")).toMatchObject({ run: "one", state: "succeeded", waiting: [], resources });
  expect(asked).toEqual(["load 1"]);
});

test("runs are listed newest first, a page at a time", async () => {
  const { rig, look } = await looking();
  await submitMany(rig, "one", "two", "three");
  const idsOf = async (request: Parameters<typeof look.runs>[0]) => (await look.runs(request)).map(({ run }) => run);
  expect(await idsOf({ limit: 2 })).toEqual(["three", "two"]);
  expect(await idsOf({ limit: 2, before: "two" })).toEqual(["one"]);
  expect(await idsOf({ limit: 2, before: "one" })).toEqual([]);
  await expect(look.runs({ limit: 2, before: "none" })).rejects.toMatchObject({ code: "RUN_UNKNOWN" });
});
