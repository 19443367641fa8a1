/** What every store promises about forgetting runs: a part of the suite of all stores. */
import { describe, expect, test } from "vitest";
import type { TaskNews } from "../../src/domain/event.ts";
import { runId, workerId } from "../../src/domain/ids.ts";
import { type Run, type RunNo, runNo } from "../../src/domain/run.ts";
import { later, millis } from "../../src/domain/time.ts";
import { brokenLaws } from "../../src/simulate/history/offline.ts";
import { replayAll } from "../../src/store/replay.ts";
import { NOTHING, type Store } from "../../src/store/store.ts";
import { no, owner, success, task } from "./builders.ts";
import { asked, claimed, FIRST, LedgerFixture, NOW } from "./ledger-fixture.ts";
import { profile } from "./sessions.ts";
import type { OpenStore } from "./stores.ts";

/** Each has one task at a time. */
const claimedBy = (worker: string): TaskNews => ({ ...claimed, worker: workerId(worker) });
const nos = (...raw: readonly number[]): readonly RunNo[] => raw.map(runNo);

/** Three runs whose events stand among each other, of which the first two have ended; and what else there is of them. */
async function filled(store: Store): Promise<{ readonly fixture: LedgerFixture; readonly epoch: number }> {
  const acquired = await store.acquire(owner("rota run"));
  const epoch = acquired.ok ? acquired.value.epoch : 0;
  const fixture = new LedgerFixture();
  const { pending } = fixture;
  const runs = nos(1, 2, 3).map((each) => fixture.submit([task("a")], { id: runId(`run-${each}`) }, each));
  pending.ofSystem({ kind: "session_joined", profile: profile("s") }, NOW);
  pending.ofSystem({ kind: "paused", scope: { of: "run", run: FIRST }, asked }, NOW);
  pending.ofSystem({ kind: "resumed", scope: { of: "run", run: FIRST }, asked }, NOW);
  const [first, second, third] = runs as [Run, Run, Run];
  for (const run of [first, second]) fixture.write(run, 0, claimedBy(`w${run.no}`));
  for (const run of [first, second]) fixture.write(run, 0, { kind: "succeeded", outcome: success });
  fixture.write(third, 0, claimedBy("w3"));
  for (const run of [first, second]) {
    pending.ofRun(run.no, { kind: "run_finished", outcome: "succeeded" }, NOW);
    pending.learn(run.manifest.name, [{ task: "a", logMs: 3, errorSquared: 0.5 }]);
  }
  // It came a moment too late, so nothing will ever let it go.
  pending.ofSystem({ kind: "paused", scope: { of: "run", run: FIRST }, asked }, NOW);
  await store.commit(pending.take(epoch));
  return { fixture, epoch };
}

async function expectWhole(store: Store): Promise<void> {
  expect(await store.check()).toEqual([]);
  expect(await replayAll(store)).toEqual([]);
  expect(await brokenLaws(store)).toEqual([]);
}

export function forgettingConformance(name: string, open: OpenStore): void {
  describe(`${name}: forgetting runs`, () => {
    test("takes everything that was of them, and leaves everything else as it was", async () => {
      await using store = await open();
      const { fixture, epoch } = await filled(store);
      await store.request({ kind: "cancel", run: runId("run-1"), by: "mo", at: NOW });
      await store.request({ kind: "cancel", run: runId("run-3"), by: "mo", at: NOW });
      const [history, kept] = [await store.history("plan"), await store.load(runNo(3))];
      const [last, others] = [await store.lastSeq(), (await store.events({})).filter(({ run }) => run !== FIRST)];
      expect(await store.prune(nos(1))).toEqual({ ok: true, value: [FIRST] });
      expect((await store.runs()).map(({ no: each }) => each)).toEqual(nos(2, 3));
      expect([await store.load(FIRST), await store.events({ run: FIRST })]).toEqual([undefined, []]);
      expect(await store.events({})).toEqual(others);
      expect(await store.load(runNo(3))).toEqual(kept);
      expect([await store.history("plan"), await store.lastSeq()]).toEqual([history, last]);
      expect([await store.pauses(), await store.sessions()]).toMatchObject([[], [{}]]);
      expect((await store.requests()).map(({ run }) => run)).toEqual(["run-3"]);
      await expectWhole(store);
      fixture.write(fixture.world.run(runNo(3)) as Run, 0, { kind: "succeeded", outcome: success });
      expect(await store.commit(fixture.pending.take(epoch))).toMatchObject({ ok: true });
      expect(await store.lastSeq()).toBe(last + 1);
      await expectWhole(store);
    });

    test("says which positions went with them, as few ranges, whichever goes first", async () => {
      for (const order of [nos(1, 2), nos(2, 1)]) {
        await using store = await open();
        await filled(store);
        const seqsOf = async (run: RunNo) => (await store.events({ run })).map(({ seq }) => seq);
        const gone = [...(await seqsOf(runNo(1))), ...(await seqsOf(runNo(2)))].sort((a, b) => a - b);
        expect(await store.forgotten()).toEqual([]);
        for (const each of order) {
          await store.prune([each]);
          await expectWhole(store);
        }
        const ranges = await store.forgotten();
        const positions = ranges.flatMap(({ first, last }) =>
          Array.from({ length: last - first + 1 }, (_, at) => first + at),
        );
        expect(positions).toEqual(gone);
        for (const [at, { first }] of ranges.entries()) expect(first).toBeGreaterThan((ranges[at - 1]?.last ?? -1) + 1);
      }
    });

    test("reads on across what is gone, from any position and in pages", async () => {
      await using store = await open();
      await filled(store);
      await store.prune(nos(1, 2));
      const all = (await store.events({})).map(({ seq }) => seq);
      for (let after = 0; after <= (await store.lastSeq()); after++) {
        const found = (await store.events({ after, limit: 2 })).map(({ seq }) => seq);
        expect(found).toEqual(all.filter((seq) => seq > after).slice(0, 2));
        expect((await store.events({ after })).map(({ seq }) => seq)).toEqual(all.filter((seq) => seq > after));
      }
    });

    test("leaves what goes on, the newest, and what a key still leads to", async () => {
      await using store = await open();
      const { fixture, epoch } = await filled(store);
      const answers = [{ key: "k", at: NOW, answer: { run: runNo(2), task: no(0), fence: 1 } }];
      await store.commit({ ...NOTHING, epoch, answers });
      fixture.submit([task("a")], { id: runId("run-4") }, runNo(4));
      await store.commit(fixture.pending.take(epoch));
      expect(await store.prune(nos(2, 3, 4, 9))).toEqual({ ok: true, value: [] });
      fixture.write(fixture.world.run(runNo(3)) as Run, 0, { kind: "succeeded", outcome: success });
      fixture.pending.ofRun(runNo(3), { kind: "run_finished", outcome: "succeeded" }, NOW);
      fixture.write(fixture.world.run(runNo(4)) as Run, 0, { kind: "cancelled", asked });
      fixture.pending.ofRun(runNo(4), { kind: "run_finished", outcome: "cancelled" }, NOW);
      await store.commit(fixture.pending.take(epoch));
      expect(await store.prune(nos(2, 3, 4))).toEqual({ ok: true, value: nos(3) });
      await store.forget(later(NOW, millis(1)));
      expect(await store.prune(nos(2, 3, 4))).toEqual({ ok: true, value: nos(2) });
      await expectWhole(store);
    });

    test("is refused while its scheduler lives", async () => {
      let lives = false;
      await using store = await open({ lives: () => lives });
      await filled(store);
      lives = true;
      expect(await store.prune(nos(1))).toEqual({ ok: false, error: { ...owner("rota run"), lives } });
      expect(await store.runs()).toHaveLength(3);
    });

    test("leaves a ledger whose last events are gone to go on where it was", async () => {
      await using store = await open();
      const { fixture, epoch } = await filled(store);
      const last = await store.lastSeq();
      expect((await store.events({ run: FIRST })).at(-1)?.seq).toBe(last);
      await store.prune(nos(1));
      expect([await store.lastSeq(), await store.events({ after: last })]).toEqual([last, []]);
      fixture.pending.ofSystem({ kind: "paused", scope: { of: "scheduler" }, asked }, NOW);
      await store.commit(fixture.pending.take(epoch));
      expect((await store.events({ after: last })).map(({ seq }) => seq)).toEqual([last + 1]);
      await expectWhole(store);
    });
  });
}
