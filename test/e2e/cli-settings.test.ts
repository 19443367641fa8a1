/** Every setting, and what is different when it is different. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { variableOf } from "../../src/app/config/config.ts";
import { SETTING_NAMES } from "../../src/app/config/settings.ts";
import { freshDir, rota, spawnRota, startRota } from "../rig/cli.ts";

function planned(tasks: string, config = ""): string {
  const cwd = freshDir();
  writeFileSync(join(cwd, "plan.yaml"), `name: plan\ntasks:\n${tasks}`);
  writeFileSync(join(cwd, "rota.config.yaml"), config);
  return cwd;
}

interface LedgerLine {
  readonly kind: string;
  readonly at: string;
  readonly deadline?: string;
  readonly task?: string;
  readonly pid?: number;
}

const events = async (cwd: string): Promise<LedgerLine[]> =>
  (await rota(["events", "--json"], { cwd })).out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as LedgerLine);

/** Kept once the look gives something. */
async function until<T>(look: () => Promise<T | undefined> | T | undefined): Promise<T> {
  const deadline = AbortSignal.timeout(30_000);
  while (!deadline.aborted) {
    const found = await look();
    if (found !== undefined) return found;
    await new Promise((next) => setImmediate(next));
  }
  throw new Error("it never came");
}

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.startsWith("Z") === false;
  } catch {
    return false;
  }
};

const TESTED = ["workers", "durability", "grace", "leaseTtl", "heartbeat", "orphans", "pass", "logMaxBytes"];
/** What the scheduler decides by is tried on a manual clock instead, in src/app. */
const ON_A_CLOCK = [
  "priorities",
  "policy",
  "patienceDispatches",
  "patienceWait",
  "pressure",
  "sessionTtl",
  "stuckAfter",
  "pollInterval",
  "ackTimeout",
  "offerTtl",
  "wakeInterval",
  "wakeCooldown",
  "wakeReason",
  "sweepLimit",
  "sweepReason",
  "starvingAge",
  "ladder",
  "pools",
] as const;
test("no setting is left out here", () => {
  expect([...TESTED, ...ON_A_CLOCK].sort()).toEqual([...SETTING_NAMES].sort());
  const tests = ["settings", "policy", "daemon/settings"]
    .map((name) => readFileSync(join(import.meta.dirname, "../../src/app", `${name}.test.ts`), "utf8"))
    .join("");
  for (const setting of ON_A_CLOCK) expect(tests).toContain(variableOf(setting));
});

test("workers: as many tasks run at once, and a flag wins", async () => {
  const most = async (cwd: string): Promise<number> => {
    let [now, peak] = [0, 0];
    for (const { kind } of await events(cwd)) {
      if (kind === "claimed") peak = Math.max(peak, ++now);
      if (kind === "succeeded") now--;
    }
    return peak;
  };
  const tasks = "  a: { run: 'true' }\n  b: { run: 'true' }\n  c: { run: 'true' }\n";
  const one = planned(tasks, "workers: 1\n");
  await spawnRota(["run", "plan.yaml"], { cwd: one });
  expect(await most(one)).toBe(1);
  const three = planned(tasks, "workers: 1\n");
  await spawnRota(["run", "plan.yaml", "--workers", "3"], { cwd: three });
  expect(await most(three)).toBe(3);
});

test("grace: a task that will not end is killed after it", async () => {
  const stubborn = "  a: { run: \"trap '' TERM; touch deaf; while :; do sleep 0.05; done\" }\n";
  const took = async (grace: string): Promise<number> => {
    const cwd = planned(stubborn, `grace: ${grace}\n`);
    const run = startRota(["run", "plan.yaml"], { cwd });
    await until(() => existsSync(join(cwd, "deaf")) || undefined);
    await rota(["cancel"], { cwd });
    expect((await run.ended).code).toBe(1);
    const ledger = await events(cwd);
    const at = (kind: string): number => Date.parse(ledger.find((event) => event.kind === kind)?.at ?? "");
    return at("cancelled") - at("stopping");
  };
  // The default is 5 s: with it this would take longer, and on a busy machine it may still take a while.
  expect(await took("50ms")).toBeLessThan(5_000);
  expect(await took("1s")).toBeGreaterThan(900);
});

test("leaseTtl: a claim holds that long", async () => {
  const cwd = planned("  a: { run: 'true' }\n", "leaseTtl: 12s\n");
  await spawnRota(["run", "plan.yaml"], { cwd });
  const claimed = (await events(cwd)).find(({ kind }) => kind === "claimed");
  expect(Date.parse(claimed?.deadline ?? "") - Date.parse(claimed?.at ?? "")).toBe(12_000);
});

test("heartbeat: leases are renewed that often", async () => {
  const cwd = planned("  a: { run: 'while [ ! -f go ]; do sleep 0.02; done' }\n", "heartbeat: 50ms\n");
  const run = startRota(["run", "plan.yaml"], { cwd });
  const deadline = async (): Promise<number | undefined> => {
    const { code, out } = await rota(["status", "--json"], { cwd });
    if (code !== 0) return undefined;
    const [first] = (JSON.parse(out) as { running: { deadline: string }[] }).running;
    return first === undefined ? undefined : Date.parse(first.deadline);
  };
  let last = await until(deadline);
  // With the default of 5 s no two of them would be so close.
  await until(async () => {
    const now = (await deadline()) ?? last;
    const isClose = now > last && now - last < 4_000;
    last = now;
    return isClose || undefined;
  });
  writeFileSync(join(cwd, "go"), "");
  expect((await run.ended).code).toBe(0);
});

describe("orphans: what runs when the scheduler is killed", () => {
  const orphaned = async (orphans: string): Promise<number> => {
    const cwd = planned("  a: { run: 'echo $$ > pid; exec sleep 60' }\n", `orphans: ${orphans}\ngrace: 100ms\n`);
    const run = startRota(["run", "plan.yaml"], { cwd });
    const pid = await until(() => {
      const text = existsSync(join(cwd, "pid")) ? readFileSync(join(cwd, "pid"), "utf8").trim() : "";
      return text === "" ? undefined : Number(text);
    });
    onTestFinished(() => {
      if (isAlive(pid)) process.kill(pid, "SIGKILL");
    });
    run.child.kill("SIGKILL");
    await run.ended;
    return pid;
  };

  test("stop: it is ended", async () => {
    const pid = await orphaned("stop");
    await until(() => (isAlive(pid) ? undefined : true));
  });

  test("keep: it goes on, for the next scheduler to take over", async () => {
    const pid = await orphaned("keep");
    expect(isAlive(pid)).toBe(true);
  });
});

test("pass: tasks see a variable only when it is passed", async () => {
  const tasks = "  a: { run: 'echo \"[$SECRET_SAUCE][$AWS_REGION]\"' }\n";
  const env = { SECRET_SAUCE: "chili", AWS_REGION: "mars" };
  const seen = async (config: string): Promise<string> => {
    const cwd = planned(tasks, config);
    await spawnRota(["run", "plan.yaml"], { cwd, env });
    return (await rota(["logs", "a"], { cwd })).out;
  };
  expect(await seen("")).toBe("[][]\n");
  expect(await seen("pass: [SECRET_SAUCE]\n")).toBe("[chili][]\n");
  expect(await seen("pass: [AWS_*]\n")).toBe("[][mars]\n");

  const warnedOf = async (config: string): Promise<readonly string[]> => {
    const { out } = await rota(["check", "plan.yaml", "--json"], { cwd: planned(tasks, config) });
    return (JSON.parse(out) as { diagnostics: { message: string }[] }).diagnostics.map(({ message }) => message);
  };
  expect(await warnedOf("pass: [AWS_*]\n")).toEqual([
    "a names $SECRET_SAUCE, which is not passed to tasks: it is empty there.",
  ]);
  expect(await warnedOf("pass: [AWS_*, SECRET_SAUCE]\n")).toEqual([]);
});

test("logMaxBytes: a log that grows over it loses its middle, and keeps its end", async () => {
  const cwd = planned(
    "  a: { run: 'seq 1 200000; touch said; while [ ! -f go ]; do sleep 0.02; done; echo the end' }\n",
    "logMaxBytes: 20KB\n",
  );
  const run = startRota(["run", "plan.yaml"], { cwd });
  const log = async (): Promise<string> => (await rota(["logs", "a"], { cwd })).out;
  await until(() => existsSync(join(cwd, "said")) || undefined);
  await until(async () => (await log()).length < 40_000 || undefined);
  writeFileSync(join(cwd, "go"), "");
  expect((await run.ended).code).toBe(0);
  const text = await log();
  expect(text.length).toBeLessThan(40_000);
  expect(text).toMatch(/^1\n2\n3\n[\s\S]*bytes are missing here[\s\S]*\nthe end\n$/);
});

test("durability: what was recorded is on the disk, or only with the system", async () => {
  const told = async (durability: string): Promise<readonly string[]> => {
    const cwd = planned("  a: { run: 'true' }\n  b: { run: 'true', needs: [a] }\n", `durability: ${durability}\n`);
    const { code } = await spawnRota(["run", "plan.yaml"], { cwd, env: { NODE_OPTIONS: `--import ${COUNT_PRAGMAS}` } });
    expect(code).toBe(0);
    return readFileSync(join(cwd, "pragmas"), "utf8").trimEnd().split("\n");
  };
  const [full, normal] = ["pragma synchronous = full", "pragma synchronous = normal"];
  expect(await told("full")).toEqual([full]);
  // Until the log has been looked over, and again for the last commit, every commit is synced.
  expect(await told("normal")).toEqual([full, normal, full]);
});

/** Power cannot be cut in a test; what the database was told can be written down. */
const COUNT_PRAGMAS = `data:text/javascript,${encodeURIComponent(`
import { appendFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
const { exec } = DatabaseSync.prototype;
DatabaseSync.prototype.exec = function (sql) {
  if (sql.includes("synchronous")) appendFileSync("pragmas", sql + "\\n");
  return exec.call(this, sql);
};
appendFileSync("pragmas", "");
`)}`;
