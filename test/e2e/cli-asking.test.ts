/** Commands that step in: carried out by a running scheduler, and kept while there is none. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { freshDir, rota, type Started, startRota } from "../rig/cli.ts";

/** A plan in a directory of its own. */
function planned(tasks: string): string {
  const cwd = freshDir();
  writeFileSync(join(cwd, "plan.yaml"), `name: plan\ntasks:\n${tasks}`);
  return cwd;
}

function running(cwd: string): Started {
  const started = startRota(["run", "plan.yaml"], { cwd, env: { ROTA_GRACE: "1s" } });
  onTestFinished(() => void started.child.kill("SIGKILL"));
  return started;
}

/** Kept once the task prints its first line. */
async function begun(cwd: string, task: string): Promise<void> {
  const until = AbortSignal.timeout(30_000);
  while (!until.aborted) {
    const { code, out } = await rota(["logs", task], { cwd });
    if (code === 0 && out !== "") return;
    await new Promise((next) => setImmediate(next));
  }
  throw new Error(`${task} never began`);
}

async function status(cwd: string): Promise<{ state: string; tasks: Record<string, number> }> {
  return JSON.parse((await rota(["status", "--json"], { cwd })).out) as never;
}

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

describe("cancel", () => {
  test("stops a whole run that is going on, and its scheduler ends", async () => {
    const cwd = planned("  long: { run: 'echo $$; sleep 60' }\n  next: { run: 'true', needs: [long] }\n");
    const run = running(cwd);
    await begun(cwd, "long");
    const pid = Number((await rota(["logs", "long"], { cwd })).out);
    const { code, out } = await rota(["cancel", "--why", "wrong branch"], { cwd });
    expect(code).toBe(0);
    expect(out).toMatch(/^Cancelled run plan-\w+\.\n$/);
    await run.ended;
    expect(await status(cwd)).toMatchObject({ state: "cancelled" });
    expect(isAlive(pid)).toBe(false);
    const events = (await rota(["events", "--json"], { cwd })).out;
    expect(events).toMatch(/"kind":"run_cancelling","by":"mo","why":"wrong branch"/);
  });

  test("stops one task, and what does not depend on it goes on", async () => {
    const cwd = planned(
      "  long: { run: 'echo on; sleep 60' }\n  next: { run: 'true', needs: [long] }\n  other: { run: 'echo on; while [ ! -f go ]; do sleep 0.02; done' }\n",
    );
    const run = running(cwd);
    await Promise.all([begun(cwd, "long"), begun(cwd, "other")]);
    const said = await rota(["cancel", "long", "--why", "enough", "--json"], { cwd });
    expect(JSON.parse(said.out)).toMatchObject({ request: "cancel", task: "long", answer: "done", scheduler: true });
    writeFileSync(join(cwd, "go"), "");
    await run.ended;
    expect(await status(cwd)).toMatchObject({ tasks: { cancelled: 1, skipped: 1, succeeded: 1 } });
    expect((await rota(["why", "long"], { cwd })).out).toMatch(
      /^⊘ long was cancelled \w+ ago, asked by mo: enough\.\n/,
    );
    expect((await rota(["why", "next"], { cwd })).out).toContain("\n  rota why long  what happened there\n");
  });

  test("is done at once when no scheduler lives, and ends what a dead one left running", async () => {
    const { cwd, pid } = await abandoned();
    expect(await status(cwd)).toMatchObject({ state: "interrupted" });
    const said = await rota(["cancel", "--json"], { cwd, env: { ROTA_GRACE: "1s" } });
    expect(JSON.parse(said.out)).toMatchObject({ answer: "done", scheduler: false });
    expect(await status(cwd)).toMatchObject({ state: "cancelled", tasks: { cancelled: 1 } });
    expect(isAlive(pid)).toBe(false);
    expect((await rota(["doctor", "--json"], { cwd })).code).toBe(0);
  });

  test("is refused for what has ended", async () => {
    const cwd = planned("  quick: { run: 'true' }\n");
    await running(cwd).ended;
    expect((await rota(["cancel"], { cwd })).err).toMatch(/^CANNOT_CANCEL: Run plan-\w+ has ended \(succeeded\)/);
    expect((await rota(["cancel", "quick"], { cwd })).code).toBe(2);
    expect((await rota(["cancel", "quik"], { cwd })).err).toMatch(/^TASK_UNKNOWN: .*Did you mean "quick"\?/);
  });
});

/** A run whose scheduler was killed, while its one task goes on. */
async function abandoned(): Promise<{ readonly cwd: string; readonly pid: number }> {
  const cwd = planned("  long: { run: 'echo $$; sleep 60' }\n");
  const run = running(cwd);
  await begun(cwd, "long");
  const pid = Number((await rota(["logs", "long"], { cwd })).out);
  run.child.kill("SIGKILL");
  await run.ended;
  return { cwd, pid };
}

test("a run ends what a dead scheduler left of another, says so, and how to go on with it", async () => {
  const { cwd, pid } = await abandoned();
  writeFileSync(join(cwd, "other.yaml"), "name: other\ntasks:\n  quick: { run: 'true' }\n");
  const other = await startRota(["run", "other.yaml"], { cwd, env: { ROTA_GRACE: "1s" } }).ended;
  expect(other.code).toBe(0);
  expect(other.err).toMatch(
    /^Run plan-\w+ had lost its scheduler\. What still ran of it was ended \(1 task\)\. Go on with it: rota run \/.*\/plan\.yaml --resume\n$/,
  );
  expect(isAlive(pid)).toBe(false);
  // It is told once.
  expect((await startRota(["run", "other.yaml"], { cwd }).ended).err).toBe("");
});

describe("approve", () => {
  const GATED =
    "  gated: { run: 'echo on', gate: Ship it? }\n  other: { run: 'echo on; while [ ! -f go ]; do sleep 0.02; done' }\n";

  test("opens a gate while the run goes on", async () => {
    const cwd = planned(GATED);
    const run = running(cwd);
    await begun(cwd, "other");
    expect((await rota(["approve", "gated"], { cwd })).out).toMatch(/^Approved task gated of run plan-\w+\.\n$/);
    await begun(cwd, "gated");
    writeFileSync(join(cwd, "go"), "");
    expect((await run.ended).code).toBe(0);
  });

  test("is kept when no scheduler lives, and counts when the run is resumed", async () => {
    const cwd = planned("  gated: { run: 'echo on > done', gate: true }\n");
    expect((await running(cwd).ended).code).toBe(3);
    const said = await rota(["approve", "gated"], { cwd });
    expect(said.out).toMatch(/No scheduler is running: it counts as soon as the run is resumed\.\n$/);
    expect(said.err).toBe(`Resume it with: rota run ${join(cwd, "plan.yaml")} --resume\n`);
    expect(existsSync(join(cwd, "done"))).toBe(false);
    expect((await startRota(["run", "plan.yaml", "--resume"], { cwd }).ended).code).toBe(0);
    expect(readFileSync(join(cwd, "done"), "utf8")).toBe("on\n");
  });

  test("is refused where there is no gate, or none that is closed", async () => {
    const cwd = planned("  plain: { run: 'true' }\n");
    await running(cwd).ended;
    expect((await rota(["approve", "plain"], { cwd })).err).toMatch(/^CANNOT_APPROVE: Task plain has no gate/);
    expect((await rota(["requeue", "plain"], { cwd })).err).toMatch(
      /^CANNOT_REQUEUE: Task plain is succeeded, not parked/,
    );
  });
});

describe("retry", () => {
  test("runs again what did not succeed, and not what did", async () => {
    const cwd = planned(
      "  once: { run: 'echo x >> once' }\n  late: { run: 'test -f ready', needs: [once] }\n  last: { run: 'echo x >> last', needs: [late] }\n",
    );
    expect((await running(cwd).ended).code).toBe(1);
    writeFileSync(join(cwd, "ready"), "");
    expect((await startRota(["retry"], { cwd }).ended).code).toBe(0);
    expect(readFileSync(join(cwd, "once"), "utf8")).toBe("x\n");
    expect(readFileSync(join(cwd, "last"), "utf8")).toBe("x\n");
    expect(await rota(["retry"], { cwd })).toMatchObject({ code: 2, err: expect.stringMatching(/^NOTHING_TO_RETRY/) });
  });
});

test("logs -f shows a real task to its end, every byte of it", async () => {
  const cwd = planned("  chatty: { run: 'echo first; while [ ! -f go ]; do sleep 0.02; done; seq 1 20000' }\n");
  const run = running(cwd);
  await begun(cwd, "chatty");
  const following = startRota(["logs", "chatty", "-f"], { cwd });
  await following.says(/first\n/);
  writeFileSync(join(cwd, "go"), "");
  const { code, out } = await following.ended;
  await run.ended;
  expect(code).toBe(0);
  expect(out).toBe(`first\n${Array.from({ length: 20_000 }, (_, index) => `${index + 1}\n`).join("")}`);
});
