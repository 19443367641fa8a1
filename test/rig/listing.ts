/** What every store promises about listing and finding runs: a part of the suite of all stores. */
import { describe, expect, test } from "vitest";
import { runId } from "../../src/domain/ids.ts";
import { runNo } from "../../src/domain/run.ts";
import type { Store, WhichRuns } from "../../src/store/store.ts";
import { no, owner, task } from "./builders.ts";
import { FIRST, LedgerFixture, NOW } from "./ledger-fixture.ts";

const BOTH = ["run-1", "run-2"];

export async function ownerOf(store: Store): Promise<number> {
  const acquired = await store.acquire(owner("rota run"));
  return acquired.ok ? acquired.value.epoch : 0;
}

export function listingConformance(name: string, open: () => Store | Promise<Store>): void {
  describe(`${name}: runs`, () => {
    test("runs are listed newest last, and an absent run is not given", async () => {
      await using store = await open();
      const fixture = new LedgerFixture();
      fixture.submit([task("a")]);
      fixture.submit([task("a")], { id: runId("run-2"), retryOf: runId("run-1"), carried: [no(0)] }, runNo(2));
      const epoch = await ownerOf(store);
      await store.commit(fixture.pending.take(epoch));
      const idsOf = async (which?: WhichRuns) => (await store.runs(which)).map(({ manifest: { id } }) => id);
      expect([await idsOf(), await idsOf("newest")]).toEqual([BOTH, ["run-2"]]);
      expect([await idsOf({ no: runNo(2) }), await idsOf({ id: runId("run-") })]).toEqual([["run-2"], []]);
      expect(await idsOf({ id: runId("run-1") })).toEqual(["run-1"]);
      const begins = (start: string) => idsOf({ begins: start });
      expect([await begins("run-"), await begins("run-1"), await begins("run-%")]).toEqual([
        BOTH,
        BOTH.slice(0, 1),
        [],
      ]);
      expect([await idsOf({ newest: 5 }), await idsOf({ newest: 0 })]).toEqual([BOTH, []]);
      expect([...(await idsOf({ newest: 1, before: runNo(2) })), ...(await idsOf({ newest: 1 }))]).toEqual(BOTH);
      fixture.pending.ofRun(FIRST, { kind: "run_finished", outcome: "succeeded" }, NOW);
      await store.commit(fixture.pending.take(epoch));
      expect(await idsOf("unfinished")).toEqual(["run-2"]);
      expect(await store.load(runNo(3))).toBeUndefined();
    });
  });
}
