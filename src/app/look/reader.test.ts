import { expect, test } from "vitest";
import { owner, task } from "../../../test/rig/builders.ts";
import { LedgerFixture } from "../../../test/rig/ledger-fixture.ts";
import { runId } from "../../domain/ids.ts";
import { runNo } from "../../domain/run.ts";
import { openMemoryStore } from "../../store/memory/store.ts";
import type { Store } from "../../store/store.ts";
import { findRun } from "./reader.ts";

/** A store of these runs, which fails when all of them are read at once. */
async function storeOf(...ids: readonly string[]): Promise<{ readonly store: Store }> {
  const store = openMemoryStore();
  const acquired = await store.acquire(owner("test"));
  const fixture = new LedgerFixture();
  for (const [at, id] of ids.entries()) fixture.submit([task("a")], { id: runId(id) }, runNo(at + 1));
  await store.commit(fixture.pending.take(acquired.ok ? acquired.value.epoch : 0));
  const runs: Store["runs"] = (which) =>
    which === undefined ? expect.unreachable("all runs are read") : store.runs(which);
  return { store: { ...store, runs } };
}

test.each([
  ["release-1a", "release-1a"],
  ["release-2", "release-2c"],
  ["last", "tests-1"],
  [undefined, "tests-1"],
])("%s is a run, and is found without reading all of them", async (name, id) => {
  const reader = await storeOf("release-1a", "release-1b", "release-2c", "tests-1");
  expect((await findRun(reader, name)).manifest.id).toBe(id);
});

test.each([
  ["release-1", '"release-1" begins 2 runs: release-1a, release-1b'],
  ["relase-2c", 'There is no run "relase-2c". Did you mean "release-2c"?'],
  ["", 'There is no run ""'],
])("%j is none, and what is meant is said without reading all of them", async (name, message) => {
  const reader = await storeOf("release-1a", "release-1b", "release-2c");
  await expect(findRun(reader, name)).rejects.toMatchObject({ code: "RUN_UNKNOWN", message });
});

test("where there are no runs it is said so", async () => {
  await expect(findRun(await storeOf())).rejects.toMatchObject({ message: "There are no runs yet" });
});
