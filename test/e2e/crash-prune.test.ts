/** `rota prune` dies at the N-th call that changes a file: nothing of what it leaves is wrong, and the next one finishes it. `CRASH=all` tries every N. */
import { cpSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { type StateDir, stateDir } from "../../src/app/config/state.ts";
import { diagnose } from "../../src/app/look/doctor.ts";
import { runId, taskId } from "../../src/domain/ids.ts";
import { runNo } from "../../src/domain/run.ts";
import { openSqliteStore } from "../../src/store/sqlite/store.ts";
import { owner, success, task } from "../rig/builders.ts";
import { freshDir, rota } from "../rig/cli.ts";
import { claimed, LedgerFixture, NOW } from "../rig/ledger-fixture.ts";
import {
  ALL,
  CALLS,
  canInject,
  countCalls,
  each,
  type Fault,
  inject,
  nameOf,
  sample,
  WITHOUT_STRACE,
} from "../rig/strace.ts";

const MAIN = resolve(import.meta.dirname, "../../src/cli/main.ts");
const LIMIT = ALL ? 3_600_000 : 240_000;
/** More than are forgotten at a time. */
const RUNS = 520;

/** Runs whose events stand among each other; all have ended, and the first few have logs. */
async function fill(state: StateDir): Promise<void> {
  await using store = openSqliteStore(state.database);
  const acquired = await store.acquire(owner("rota run"));
  const epoch = acquired.ok ? acquired.value.epoch : 0;
  const fixture = new LedgerFixture();
  const runs = Array.from({ length: RUNS }, (_, at) =>
    fixture.submit([task("a")], { id: runId(`run-${at + 1}`) }, runNo(at + 1)),
  );
  for (const run of runs) {
    fixture.write(run, 0, claimed, { kind: "succeeded", outcome: success });
    fixture.pending.ofRun(run.no, { kind: "run_finished", outcome: "succeeded" }, NOW);
    if (run.no <= 4) logOf(state, `run-${run.no}`);
  }
  await store.commit(fixture.pending.take(epoch));
  await store.release({ epoch });
}

function logOf(state: StateDir, id: string): void {
  const log = state.log(runId(id), taskId("a"), 1);
  mkdirSync(dirname(log), { recursive: true });
  writeFileSync(log, "said\n");
}

const argvOf = ({ root }: StateDir): readonly string[] => [
  process.execPath,
  "--disable-warning=ExperimentalWarning",
  MAIN,
  ...["prune", "--older-than", "1d", "--state", root],
];

describe.skipIf(!canInject())(`at the N-th call that changes a file${WITHOUT_STRACE}`, () => {
  test(
    "forgetting that was killed there has left nothing wrong, and is finished by the next",
    async () => {
      const full = stateDir(join(freshDir(), ".rota"));
      await fill(full);
      const place = freshDir();
      let copies = 0;
      const copied = (): StateDir => {
        const state = stateDir(join(place, String(++copies)));
        cpSync(full.root, state.root, { recursive: true });
        for (const name of readdirSync(state.runs)) utimesSync(join(state.runs, name), 1, 1);
        return state;
      };
      const env = { ...process.env, NODE_DISABLE_COMPILE_CACHE: "1" };
      const counts = await countCalls({ argv: argvOf(copied()), env });
      const points = CALLS.flatMap((call) =>
        sample(counts[call], ALL ? Number.POSITIVE_INFINITY : 4).map((at): Fault => ({ call, how: "SIGKILL", at })),
      );
      expect(points.map(({ call }) => call)).toContain("unlink");
      await each(points, 2, async (fault) => {
        const state = copied();
        await inject(fault, { argv: argvOf(state), env });
        await expectClean(state, nameOf(fault));
        expect(await rota(["prune", "--older-than", "1d", "--state", state.root])).toMatchObject({ code: 0 });
        await expectClean(state, nameOf(fault));
        await using store = openSqliteStore(state.database, { readOnly: true });
        expect(
          (await store.runs()).map(({ no }) => no),
          nameOf(fault),
        ).toEqual([RUNS]);
        expect(await store.lastSeq(), nameOf(fault)).toBe(4 * RUNS);
        expect(readdirSync(state.runs), nameOf(fault)).toEqual([]);
      });
    },
    LIMIT,
  );
});

async function expectClean(state: StateDir, what: string): Promise<void> {
  const findings = await Array.fromAsync(diagnose(state, {}));
  const wrong = findings.filter(({ health, check }) => health === "problem" && check !== "disk");
  expect(wrong, what).toEqual([]);
}
