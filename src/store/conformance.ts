/** What every store promises, as one suite: an implementation's test file is its name, one call, and whatever is peculiar to it. */
import { describe, expect, test } from "vitest";
import { no, owner, task } from "../../test/rig/builders.ts";
import { forgettingConformance } from "../../test/rig/forgetting.ts";
import { asked, claimed, everyState, FIRST, LedgerFixture, NOW, started } from "../../test/rig/ledger-fixture.ts";
import { listingConformance } from "../../test/rig/listing.ts";
import { orderingConformance } from "../../test/rig/ordering.ts";
import { owningConformance } from "../../test/rig/owning.ts";
import { profile } from "../../test/rig/sessions.ts";
import type { OpenStore } from "../../test/rig/stores.ts";
import { runId, taskId, workerId } from "../domain/ids.ts";
import { takenFrom } from "../domain/outcome.ts";
import { type Run, runNo } from "../domain/run.ts";
import { later, minutes } from "../domain/time.ts";
import { asRecorded } from "./ledger.ts";
import { restoreRun, type TaskRow, toRunRow, toTaskRow } from "./rows.ts";
import { type Batch, type DoneKey, NOTHING, type Request, type Store } from "./store.ts";

/** The epoch of a new owner; the owner before it does not live. */
export async function acquired(store: Store): Promise<number> {
  const result = await store.acquire(owner("rota run"));
  if (!result.ok) throw new Error("the owner of the store lives");
  return result.value.epoch;
}

export function storeConformance(name: string, open: OpenStore): void {
  owningConformance(name, open);
  describe(`${name}: commit`, () => {
    test("what was committed is given back: the run, its tasks as they were planned, and as they are", async () => {
      await using store = await open();
      const { run, batch } = everyState(await acquired(store));
      expect(await store.commit(batch)).toEqual({ ok: true, value: undefined });
      const loaded = await store.load(FIRST);
      expect(loaded?.row).toEqual(toRunRow(run));
      expect(loaded?.specs).toEqual(run.tasks.map(({ spec }) => spec));
      expect(loaded?.tasks).toEqual(rowsOf(run));
    });

    test("the run that is restored from it is the run that was", async () => {
      await using store = await open();
      const { run, batch } = everyState(await acquired(store));
      await store.commit(batch);
      const loaded = await store.load(FIRST);
      const restored = loaded && restoreRun(loaded.row, loaded.specs, loaded.tasks);
      expect(restored?.tasks).toEqual(run.tasks);
      expect(restored?.counts).toEqual(run.counts);
      expect(restored?.status).toEqual(run.status);
    });

    test.each([
      ["active", undefined],
      ["stalled", { kind: "run_stalled", remaining: 1, outcome: "deadlock" } as const],
      ["finished", { kind: "run_finished", outcome: "failed" } as const],
    ])("a run is given back %s", async (state, news) => {
      await using store = await open();
      const fixture = new LedgerFixture();
      const run = fixture.submit([task("a")]);
      fixture.pending.ofRun(FIRST, { kind: "run_cancelling", ...asked }, NOW);
      if (news !== undefined) fixture.pending.ofRun(FIRST, news, NOW);
      await store.commit(fixture.pending.take(await acquired(store)));
      expect(await store.runs()).toEqual([toRunRow(run)]);
      expect(run.status.state).toBe(state);
      expect(run.cancelling).toBe(true);
    });

    test("an older epoch is refused, and nothing of it is written", async () => {
      await using store = await open();
      const old = await acquired(store);
      const fixture = new LedgerFixture();
      fixture.submit([task("a")]);
      await acquired(store);
      await unchangedBy(store, fixture.pending.take(old));
    });

    test("an epoch that was never given is refused", async () => {
      await using store = await open();
      const fixture = new LedgerFixture();
      fixture.submit([task("a")]);
      await unchangedBy(store, fixture.pending.take((await acquired(store)) + 1));
    });

    test("a row that another has replaced meanwhile refuses the whole batch", async () => {
      await using store = await open();
      const epoch = await acquired(store);
      const fixture = new LedgerFixture();
      const run = fixture.submit([task("a"), task("b")]);
      fixture.write(run, 0, claimed);
      await store.commit(fixture.pending.take(epoch));
      const batch = fixture.write(run, 1, claimed).write(run, 0, started).pending.take(epoch);
      const stale = batch.tasks.map((write) => (write.row.task === 0 ? { ...write, replaces: 0 + 2 } : write));
      await unchangedBy(store, { ...batch, tasks: stale });
    });

    test("a row that was not expected to be there refuses the whole batch", async () => {
      await using store = await open();
      const epoch = await acquired(store);
      const fixture = new LedgerFixture();
      const run = fixture.submit([task("a"), task("b")]);
      fixture.write(run, 0, claimed);
      await store.commit(fixture.pending.take(epoch));
      const batch = fixture.write(run, 1, claimed).write(run, 0, started).pending.take(epoch);
      const asIfNew = batch.tasks.map((write) => ({ ...write, replaces: 0 }));
      await unchangedBy(store, { ...batch, tasks: asIfNew });
    });

    test("a row that was expected and is not there refuses the whole batch", async () => {
      await using store = await open();
      const epoch = await acquired(store);
      const fixture = new LedgerFixture();
      const run = fixture.submit([task("a"), task("b")]);
      await store.commit(fixture.pending.take(epoch));
      const batch = fixture.write(run, 1, claimed).write(run, 0, claimed).pending.take(epoch);
      const stale = batch.tasks.map((write) => (write.row.task === 0 ? { ...write, replaces: 1 } : write));
      await unchangedBy(store, { ...batch, tasks: stale });
    });

    test("a renewed lease has its new deadline, and leaves no row in the ledger", async () => {
      await using store = await open();
      const epoch = await acquired(store);
      const fixture = new LedgerFixture();
      const run = fixture.submit([task("a")]);
      await store.commit(fixture.write(run, 0, claimed).pending.take(epoch));
      const deadline = later(NOW, minutes(2));
      await store.commit(fixture.write(run, 0, { kind: "lease_renewed", deadline }).pending.take(epoch));
      expect((await store.load(FIRST))?.tasks).toMatchObject([{ state: "claimed", deadline, version: 1 }]);
      expect((await store.events({})).map(({ kind }) => kind)).toEqual(["run_submitted", "claimed"]);
      expect(await store.lastSeq()).toBe(2);
    });
  });

  describe(`${name}: ledger`, () => {
    test("an empty one ends at 0", async () => {
      await using store = await open();
      expect(await store.lastSeq()).toBe(0);
      expect(await store.events({})).toEqual([]);
    });

    test("every event is given back in order, without the tasks and the secrets, which are kept elsewhere", async () => {
      await using store = await open();
      const { batch } = everyState(await acquired(store));
      await store.commit(batch);
      expect(await store.events({})).toEqual(
        batch.events.filter(({ kind }) => kind !== "lease_renewed").map(asRecorded),
      );
      expect(await store.lastSeq()).toBe(batch.events.findLast(({ kind }) => kind !== "lease_renewed")?.seq);
    });

    test("no event shows the hash of a token", async () => {
      await using store = await open();
      const { batch } = everyState(await acquired(store));
      await store.commit(batch);
      expect(JSON.stringify(batch.tasks)).toContain("hash-of-a-token");
      expect(JSON.stringify(await store.events({}))).not.toContain("hash-of-a-token");
    });

    test("it can be asked for a run, a task, what is new, and so many", async () => {
      await using store = await open();
      const fixture = new LedgerFixture();
      const first = fixture.submit([task("a"), task("b")]);
      const second = fixture.submit([task("a")], { id: runId("run-2") }, runNo(2));
      fixture.write(first, 0, claimed).write(second, 0, claimed).write(first, 1, claimed).write(first, 0, started);
      await store.commit(fixture.pending.take(await acquired(store)));
      const seqs = async (query: Parameters<Store["events"]>[0]) => (await store.events(query)).map(({ seq }) => seq);
      expect(await seqs({})).toEqual([1, 2, 3, 4, 5, 6]);
      expect(await seqs({ run: FIRST })).toEqual([1, 3, 5, 6]);
      expect(await seqs({ run: FIRST, task: no(0) })).toEqual([3, 6]);
      expect(await seqs({ run: runNo(2), task: no(0) })).toEqual([4]);
      expect(await seqs({ after: 4 })).toEqual([5, 6]);
      expect(await seqs({ run: FIRST, after: 3, limit: 1 })).toEqual([5]);
      expect(await seqs({ limit: 0 })).toEqual([]);
      expect(await seqs({ after: 6 })).toEqual([]);
      expect(await seqs({ run: runNo(9) })).toEqual([]);
    });
  });

  describe(`${name}: requests`, () => {
    const cancel: Request = {
      kind: "cancel",
      run: runId("run-1"),
      task: taskId("a"),
      by: "mo",
      why: "enough",
      at: NOW,
    };

    test("are kept in the order they were made until they are dealt with", async () => {
      await using store = await open();
      const requeue: Request = { kind: "requeue", run: runId("run-1"), by: "mo", at: NOW };
      const numbers = [await store.request(cancel), await store.request(requeue)];
      expect(await store.requests()).toEqual([
        { ...cancel, no: numbers[0] },
        { ...requeue, no: numbers[1] },
      ]);
    });

    test("are gone with the commit that says they are dealt with, and their numbers are not used again", async () => {
      await using store = await open();
      const [first, second] = [await store.request(cancel), await store.request(cancel)];
      const fixture = new LedgerFixture();
      fixture.submit([task("a")]);
      fixture.pending.requestDone(first);
      fixture.pending.requestDone(second);
      await store.commit(fixture.pending.take(await acquired(store)));
      expect(await store.requests()).toEqual([]);
      expect(await store.request(cancel)).toBeGreaterThan(second);
    });

    test("are kept when the commit is refused", async () => {
      await using store = await open();
      const request = await store.request(cancel);
      const old = await acquired(store);
      await acquired(store);
      const fixture = new LedgerFixture();
      fixture.submit([task("a")]);
      fixture.pending.requestDone(request);
      await unchangedBy(store, fixture.pending.take(old));
    });
  });

  describe(`${name}: sessions, pauses and keys`, () => {
    const scopes = [
      { of: "scheduler" },
      { of: "pool", pool: "agents" },
      { of: "run", run: FIRST },
      { of: "task", run: FIRST, task: no(1) },
    ] as const;

    test("sessions are given back as they are, in the order of joining, and are gone when they have left", async () => {
      await using store = await open();
      const epoch = await acquired(store);
      const { pending, world } = new LedgerFixture();
      const full = { workspace: "/w — 你好", channel: "c", capabilities: ["gpu", "rust"], slots: 3 };
      pending.ofSystem({ kind: "session_joined", profile: profile("z", full) }, NOW);
      for (const id of ["b", "a"])
        pending.ofSystem({ kind: "session_joined", profile: profile(id) }, later(NOW, minutes(1)));
      await store.commit(pending.take(epoch));
      expect((await store.sessions()).map((session) => session.profile.id)).toEqual(["z", "a", "b"]);
      const changed = { kind: "session_changed", session: workerId("z"), state: "quarantined", losses: 3 } as const;
      pending.ofSystem(changed, later(NOW, minutes(2)));
      pending.ofSystem({ kind: "session_left", session: workerId("a"), why: "enough" }, later(NOW, minutes(2)));
      await store.commit(pending.take(epoch));
      expect(await store.sessions()).toEqual([world.sessions.get(workerId("z")), world.sessions.get(workerId("b"))]);
      expect(await store.sessions()).toMatchObject([{ joinedAt: NOW, seenAt: later(NOW, minutes(2)), losses: 3 }, {}]);
    });

    test("a stored session does not change when the live one does", async () => {
      await using store = await open();
      const { pending, world } = new LedgerFixture();
      pending.ofSystem({ kind: "session_joined", profile: profile("a") }, NOW);
      await store.commit(pending.take(await acquired(store)));
      Object.assign(world.sessions.get(workerId("a")) as object, { state: "busy" });
      expect(await store.sessions()).toMatchObject([{ state: "idle" }]);
    });

    test("pauses are given back with who asked, why and when; what was let go, or has ended, is on hold no more", async () => {
      await using store = await open();
      const epoch = await acquired(store);
      const fixture = new LedgerFixture();
      fixture.submit([task("a"), task("b")]);
      for (const scope of scopes) fixture.pending.ofSystem({ kind: "paused", scope, asked }, NOW);
      await store.commit(fixture.pending.take(epoch));
      const kept = (await store.pauses()).map(({ scope }) => scope.of);
      expect(kept).toEqual(["pool", "run", "scheduler", "task"]);
      expect(await store.pauses()).toContainEqual({ scope: scopes[3], asked, at: NOW });
      fixture.pending.ofSystem({ kind: "resumed", scope: scopes[1], asked }, NOW);
      fixture.pending.ofRun(FIRST, { kind: "run_finished", outcome: "cancelled" }, NOW);
      await store.commit(fixture.pending.take(epoch));
      expect(await store.pauses()).toEqual([{ scope: scopes[0], asked, at: NOW }]);
    });

    test("a task that was edited is what it is now; the others are what they were", async () => {
      await using store = await open();
      const epoch = await acquired(store);
      const fixture = new LedgerFixture();
      const run = fixture.submit([task("a"), task("b", { title: "Two" })]);
      await store.commit(fixture.pending.take(epoch));
      const changes = { priority: "high", requires: ["gpu"], title: "New" } as const;
      await store.commit(fixture.write(run, 1, { kind: "edited", changes, asked }).pending.take(epoch));
      expect((await store.load(FIRST))?.specs).toEqual([task("a"), { ...task("b"), ...changes }]);
      expect((await store.events({})).at(-1)).toMatchObject({ kind: "edited", changes, asked });
    });

    test("the first answer to a key stays, until it is old enough to be forgotten", async () => {
      await using store = await open();
      const epoch = await acquired(store);
      const batch = (key: string, fence: number, at = NOW): Batch => ({
        ...NOTHING,
        epoch,
        answers: [{ key, at, answer: { run: FIRST, task: no(1), fence } }],
      });
      await store.commit(batch("k", 1));
      await store.commit(batch("k", 2, later(NOW, minutes(1))));
      await store.commit({ ...batch("young", 3, later(NOW, minutes(1))) });
      expect(await store.recall("k")).toEqual({ run: FIRST, task: no(1), fence: 1 });
      expect(await store.recall("K")).toBeUndefined();
      await store.forget(NOW);
      expect(await store.recall("k")).toBeDefined();
      await store.forget(later(NOW, minutes(1)));
      expect([await store.recall("k"), await store.recall("young")]).toMatchObject([undefined, { fence: 3 }]);
    });

    test("the first task that succeeds with an idempotency key has done it, for good", async () => {
      await using store = await open();
      const epoch = await acquired(store);
      const done = (key: string, id: string): DoneKey => ({ key, by: { run: runId("r"), task: taskId(id) } });
      const [first, other] = [{ ...done("k", "a"), summary: "it is there" }, done("with \u2028 and \ud83d\ude00", "c")];
      await store.commit({ ...NOTHING, epoch, done: [first, other] });
      await store.commit({ ...NOTHING, epoch, done: [done("k", "b")] });
      await store.forget(later(NOW, minutes(1)));
      expect(await store.doneWith(["K", "k", other.key])).toEqual([first, other]);
      expect([await store.doneWith([]), await store.check()]).toEqual([[], []]);
    });

    test("a task that took the result of another is kept with it, and has made no attempt", async () => {
      await using store = await open();
      const epoch = await acquired(store);
      const fixture = new LedgerFixture();
      const run = fixture.submit([task("a", { idempotencyKey: "k" })]);
      const outcome = takenFrom({ run: runId("r"), task: taskId("a") }, { summary: "it is there" });
      await store.commit(fixture.write(run, 0, { kind: "succeeded", outcome }).pending.take(epoch));
      expect((await store.load(FIRST))?.tasks).toMatchObject([{ state: "succeeded", attempt: 0, detail: { outcome } }]);
      expect([await store.doneWith(["k"]), await store.check()]).toEqual([[], []]);
    });

    test("the secret is written once", async () => {
      await using store = await open();
      expect([await store.secret("first"), await store.secret("second")]).toEqual(["first", "first"]);
    });

    test("nothing of them is written when the commit is refused", async () => {
      await using store = await open();
      const old = await acquired(store);
      await acquired(store);
      const { pending } = new LedgerFixture();
      pending.ofSystem({ kind: "session_joined", profile: profile("a") }, NOW);
      pending.ofSystem({ kind: "paused", scope: scopes[0], asked }, NOW);
      pending.remember({ key: "k", at: NOW, answer: { run: FIRST } });
      const done = [{ key: "k", by: { run: runId("r"), task: taskId("a") } }];
      await unchangedBy(store, { ...pending.take(old), done });
    });
  });

  listingConformance(name, open);
  orderingConformance(name, open);
  forgettingConformance(name, open);

  test(`${name}: maintenance changes nothing that a reader sees`, async () => {
    await using store = await open();
    await store.commit(everyState(await acquired(store)).batch);
    const before = [await store.runs(), await store.load(FIRST), await store.events({})];
    store.maintain();
    expect([await store.runs(), await store.load(FIRST), await store.events({})]).toEqual(before);
  });

  test(`${name}: a sound store has nothing to complain of`, async () => {
    await using store = await open();
    await store.commit(everyState(await acquired(store)).batch);
    expect(await store.check()).toEqual([]);
  });
}

/** The batch is refused, and the store is as it was. */
async function unchangedBy(store: Store, batch: Batch): Promise<void> {
  const everything = async () => [
    await store.runs(),
    await store.load(FIRST),
    await store.events({}),
    await store.lastSeq(),
    await store.requests(),
    await store.owner(),
    await store.sessions(),
    await store.pauses(),
    await store.recall("k"),
    await store.doneWith(["k"]),
  ];
  const before = await everything();
  expect(await store.commit(batch)).toEqual({ ok: false, error: "ownership-lost" });
  expect(await everything()).toEqual(before);
}

/** The rows the store should have: of every task that anything has happened to. */
const rowsOf = (run: Run): readonly TaskRow[] =>
  run.tasks.filter(({ version }) => version > 0).map((each) => toTaskRow(run, each));
