import { existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { owner, success, task } from "../../../test/rig/builders.ts";
import { freshDir, rota } from "../../../test/rig/cli.ts";
import { claimed, LedgerFixture, NOW } from "../../../test/rig/ledger-fixture.ts";
import { runId, taskId } from "../../domain/ids.ts";
import { runNo } from "../../domain/run.ts";
import { hours, later } from "../../domain/time.ts";
import { ownIdentity } from "../../effects/host.ts";
import { hostName } from "../../effects/machine.ts";
import { openSqliteStore } from "../../store/sqlite/store.ts";
import { type StateDir, stateDir } from "../config/state.ts";
import { diagnose } from "./doctor.ts";
import { prunable, prune } from "./prune.ts";

const DAY = hours(24);
/** Run N has ended N days after this. */
const daysLater = (days: number) => later(NOW, hours(24 * days));
const idOf = (no: number) => runId(`run-${no}`);
const LAST = 6;

/** A run has ended every day, each with a log; but the fourth goes on, and a key leads to the second. */
async function filled(): Promise<StateDir> {
  const state = stateDir(join(freshDir(), ".rota"));
  await using store = openSqliteStore(state.database);
  const acquired = await store.acquire(owner("rota run"));
  const epoch = acquired.ok ? acquired.value.epoch : 0;
  const fixture = new LedgerFixture();
  for (let no = 1; no <= LAST; no++) {
    const run = fixture.submit([task("a")], { id: idOf(no) }, runNo(no));
    if (no === 4) continue;
    fixture.write(run, 0, claimed, { kind: "succeeded", outcome: success });
    fixture.pending.ofRun(runNo(no), { kind: "run_finished", outcome: "succeeded" }, daysLater(no));
    fixture.pending.learn(run.manifest.name, [{ task: "a", logMs: no }]);
    logOf(state, no);
  }
  fixture.pending.remember({ key: "k", at: daysLater(6), answer: { run: runNo(2) } });
  await store.commit(fixture.pending.take(epoch));
  await store.release({ epoch });
  return state;
}

function logOf(state: StateDir, no: number): void {
  const log = state.log(idOf(no), taskId("a"), 1);
  mkdirSync(dirname(log), { recursive: true });
  writeFileSync(log, "said\n");
  utimesSync(join(state.runs, idOf(no)), daysLater(no) / 1_000, daysLater(no) / 1_000);
}

const idsIn = async (state: StateDir) => {
  await using store = openSqliteStore(state.database, { readOnly: true });
  return (await store.runs()).map(({ no }) => no);
};

async function expectClean(state: StateDir): Promise<void> {
  const findings = await Array.fromAsync(diagnose(state, {}));
  expect(findings.filter(({ health }) => health === "problem" || health === "warning")).toEqual([]);
}

test("what ended long ago is forgotten with its logs; what goes on, is new or is led to by a key stays", async () => {
  const state = await filled();
  const pruned = await prune(state, { olderThan: DAY, keep: 1, now: daysLater(6) });
  expect(pruned.runs.map(({ no }) => no)).toEqual([1, 3]);
  expect(pruned.logs).toBe(2);
  expect(await idsIn(state)).toEqual([2, 4, 5, 6]);
  expect(readdirSync(state.runs).sort()).toEqual(["run-2", "run-5", "run-6"]);
  await expectClean(state);
  await using store = openSqliteStore(state.database);
  expect((await store.history("plan")).durations.get("a")).toMatchObject({ count: 5 });
  expect(await store.recall("k")).toEqual({ run: 2 });
});

test("the newest stay, however old they are, and a key is forgotten after a day", async () => {
  const state = await filled();
  const years = { olderThan: DAY, now: daysLater(700) };
  await using store = openSqliteStore(state.database);
  const nosOf = async (keep: number) => (await prunable(store, { ...years, keep })).map(({ no }) => no);
  expect([await nosOf(0), await nosOf(4), await nosOf(99)]).toEqual([[1, 2, 3, 5], [1, 2], []]);
  expect((await prune(state, { ...years, keep: 0 })).runs.map(({ no }) => no)).toEqual([1, 2, 3, 5]);
  await expectClean(state);
  expect((await prune(state, { ...years, keep: 0 })).runs).toEqual([]);
});

test("who was stopped before the logs were removed has the next one remove them, and nothing else that is there", async () => {
  const state = await filled();
  {
    await using store = openSqliteStore(state.database);
    await store.prune([runNo(1), runNo(3)]);
  }
  await expectClean(state);
  // Of a run that is just beginning, or that only a later copy of the database had.
  mkdirSync(join(state.runs, "run-7"));
  writeFileSync(join(state.runs, "notes.txt"), "mine\n");
  expect(await prune(state, { olderThan: DAY, keep: 99, now: daysLater(6) })).toEqual({ runs: [], logs: 2 });
  expect(readdirSync(state.runs).sort()).toEqual(["notes.txt", "run-2", "run-5", "run-6", "run-7"]);
});

test("it is refused while a scheduler works, with what to do", async () => {
  const state = await filled();
  await using store = openSqliteStore(state.database);
  await store.acquire({ ...owner("rota serve"), process: ownIdentity(), host: hostName() });
  const refused = await rota(["prune", "--state", state.root]);
  expect(refused).toMatchObject({
    code: 2,
    err: expect.stringMatching(/STATE_BUSY: .* is in use by rota serve .*Stop it/s),
  });
  expect(await idsIn(state)).toHaveLength(LAST);
  // A dry run is allowed.
  expect(await rota(["prune", "--dry-run", "--state", state.root])).toMatchObject({ code: 0 });
});

test("the command says what it did, or would do", async () => {
  const state = await filled();
  const said = (...more: readonly string[]) => rota(["prune", "--keep", "2", "--state", state.root, ...more]);
  expect(await said("--dry-run")).toMatchObject({ out: "run-1\nrun-2\nrun-3\n3 runs would be forgotten.\n" });
  expect(JSON.parse((await said("--dry-run", "--json")).out)).toEqual({
    dry_run: true,
    runs: ["run-1", "run-2", "run-3"],
    logs: 0,
  });
  expect(await idsIn(state)).toHaveLength(LAST);
  expect((await said()).out).toBe("3 runs forgotten, and the logs of 3.\n");
  expect(existsSync(join(state.runs, "run-1"))).toBe(false);
  expect(JSON.parse((await said("--json")).out)).toEqual({ dry_run: false, runs: [], logs: 0 });
});
