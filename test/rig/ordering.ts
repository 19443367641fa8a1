/** What every store promises about commits that are given before the last one is answered: a part of the suite of all stores. */
import { expect, test } from "vitest";
import { NOTHING, type Store } from "../../src/store/store.ts";
import { task } from "./builders.ts";
import { claimed, LedgerFixture, started } from "./ledger-fixture.ts";
import { ownerOf } from "./listing.ts";

export function orderingConformance(name: string, open: () => Store | Promise<Store>): void {
  test(`${name}: several may be given at once: they are written in their order, and none after a refused batch`, async () => {
    await using store = await open();
    const epoch = await ownerOf(store);
    const fixture = new LedgerFixture();
    const run = fixture.submit([task("a"), task("b")]);
    const batches = [fixture.pending.take(epoch), fixture.write(run, 0, claimed).pending.take(epoch)];
    const good = fixture.write(run, 0, started).pending.take(epoch);
    // Another has replaced the row, as far as this one knows.
    batches.push({ ...good, tasks: good.tasks.map((write) => ({ ...write, replaces: 7 })) });
    batches.push(fixture.write(run, 1, claimed).pending.take(epoch));
    const results = await Promise.all(batches.map((batch) => store.commit(batch)));
    expect(results.map(({ ok }) => ok)).toEqual([true, true, false, false]);
    expect((await store.load(run.no))?.tasks).toMatchObject([{ task: 0, state: "claimed" }]);
    const next = await ownerOf(store);
    expect(await store.commit({ ...NOTHING, epoch: next })).toMatchObject({ ok: true });
  });
}
