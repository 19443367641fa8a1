/** The commands with which people step in, against a real daemon: submit, hold, drain, change, cancel, try again. */
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { connect } from "../../src/wire/client.ts";
import { spawnRota, startRota } from "../rig/cli.ts";
import { type Served, served, unserved } from "../rig/served.ts";

const POOLED =
  "  write: { pool: writers, prompt: Write it }\n  check: { pool: writers, prompt: Check it, needs: [write] }\n";
const QUICK = "  quick: { run: 'echo on >> done' }\n";
/** Runs until the file `go` is there. */
const HELD = "  held: { run: 'echo on; while [ ! -f go ]; do sleep 0.02; done' }\n";

const release = ({ cwd }: Served): void => writeFileSync(join(cwd, "go"), "");
const join1 = (place: Served): Promise<string> => place.says(["session", "join", "--pool", "writers", "--id", "s1"]);
async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const end = AbortSignal.timeout(30_000);
  while (!end.aborted) {
    if (await holds()) return;
    // A look at the disk alone lets no time pass, and then this would never end.
    await new Promise((next) => setImmediate(next));
  }
  throw new Error(`never: ${what}`);
}
const isState = (place: Served, task: string, state: string) => async (): Promise<boolean> =>
  (await place.json<{ state: string }>(["why", task])).state === state;

describe("submit", () => {
  test("hands a plan to the daemon and prints its run", async () => {
    const place = await served();
    writeFileSync(join(place.cwd, "plan.yaml"), `name: plan\ntasks:\n${QUICK}`);
    const { code, out, err } = await place.rota(["submit", "plan.yaml"]);
    expect({ code, err }).toEqual({ code: 0, err: `Run ${out.trim()} submitted: 1 task.\n` });
    expect(out).toMatch(/^plan-[0-9a-f]{6}\n$/);
    await until("it ran", async () => existsSync(join(place.cwd, "done")));
  });

  test("finds a daemon whose socket is elsewhere, and no other that has the same one later", async () => {
    const [place, other] = [unserved(), unserved()];
    const note = join(place.cwd, ".rota", "socket.json");
    const daemon = await place.serve("--socket", "else.sock");
    expect(statSync(note).mode & 0o777).toBe(0o600);
    const run = await place.submit(POOLED);
    daemon.child.kill("SIGTERM");
    await daemon.ended;
    expect(existsSync(note)).toBe(false);
    // A daemon that dies leaves its note, and another program takes the socket.
    await place.serve("--socket", "else.sock");
    await place.kill();
    expect(existsSync(note)).toBe(true);
    await other.serve("--socket", join(place.cwd, "else.sock"));
    expect(await place.rota(["submit", "plan.yaml"])).toMatchObject({
      code: 2,
      err: expect.stringContaining(`DAEMON_MISSING: There is no daemon at ${join(place.cwd, ".rota", "rota.sock")}`),
    });
    await other.kill();
    await place.serve();
    expect(existsSync(note)).toBe(false);
    expect(await place.submit(POOLED)).not.toBe(run);
  });

  test("under one key is submitted once", async () => {
    const place = await served();
    const run = await place.submit(POOLED, "--key", "k1");
    expect(await place.submit(POOLED, "--key", "k1")).toBe(run);
    expect(await place.json(["submit", "plan.yaml", "--key", "k1"])).toEqual({ run, tasks: 2, repeated: true });
    expect(await place.submit(POOLED, "--key", "k2")).not.toBe(run);
  });

  test.each([
    ["succeeds", "  a: { run: 'true' }\n", 0, "succeeded"],
    ["fails", "  a: { run: 'exit 3' }\n  b: { run: 'true', needs: [a] }\n", 1, "failed"],
    ["stalls", "  a: { run: 'true', gate: Really? }\n", 3, "waiting"],
  ])("waits for a run that %s, with the exit code of run", async (_, tasks, code, outcome) => {
    const place = await served();
    writeFileSync(join(place.cwd, "plan.yaml"), `name: plan\ntasks:\n${tasks}`);
    const said = await spawnRota(["submit", "plan.yaml", "--wait", "--json"], { cwd: place.cwd });
    expect(said).toMatchObject({ code, err: "" });
    expect(JSON.parse(said.out)).toMatchObject({ outcome, tasks: { total: tasks.split("\n").length - 1 } });
  });

  test("on a closed gate says what opens it, and leaves the rest to the daemon", async () => {
    const place = await served();
    writeFileSync(join(place.cwd, "plan.yaml"), "name: plan\ntasks:\n  a: { run: 'true', gate: Really? }\n");
    const { out } = await spawnRota(["submit", "plan.yaml", "--wait"], { cwd: place.cwd });
    expect(out).toContain("rota approve a");
    expect(out).not.toContain("--resume");
  });

  test("shows what happens while it waits, across a daemon that is killed and comes back", async () => {
    const place = await served();
    writeFileSync(join(place.cwd, "plan.yaml"), `name: plan\ntasks:\n${HELD}  after: { run: 'true', needs: [held] }\n`);
    const waiting = place.start(["submit", "plan.yaml", "--wait"]);
    await waiting.says(/submitted with 2 tasks/);
    await until("it runs", isState(place, "held", "running"));
    await place.kill();
    await place.serve();
    release(place);
    const { code, out } = await waiting.ended;
    expect(code).toBe(0);
    expect(out).toMatch(/✔ held/);
    expect(out).toMatch(/^✔ plan succeeded in /m);
  });

  test("can be left waiting: the run goes on", async () => {
    const place = await served();
    writeFileSync(join(place.cwd, "plan.yaml"), `name: plan\ntasks:\n${HELD}`);
    const waiting = place.start(["submit", "plan.yaml", "--wait"]);
    await waiting.says(/submitted with 1 task/);
    await until("it runs", isState(place, "held", "running"));
    waiting.child.kill("SIGINT");
    expect(await waiting.ended).toMatchObject({
      code: 130,
      err: expect.stringMatching(/^Run plan-\w+ goes on\. See it with/),
    });
    expect(await place.json(["status"])).toMatchObject({ state: "running" });
    release(place);
  });

  test("says what is wrong with a plan, and where", async () => {
    const place = await served();
    writeFileSync(join(place.cwd, "bad.yaml"), "tasks:\n  a: { run: x, needs: [b] }\n");
    const { code, err } = await place.rota(["submit", "bad.yaml"]);
    expect(code).toBe(2);
    expect(err).toMatch(/^PLAN_INVALID: bad\.yaml cannot be run\n {2}bad\.yaml:2:\d+: PLAN_NEED_UNKNOWN/);
    expect((await place.rota(["submit", "none.yaml"])).err).toMatch(/^PLAN_UNREADABLE: none\.yaml cannot be read/);
    writeFileSync(join(place.cwd, "latin.yaml"), Buffer.from([0x61, 0x3a, 0xe9, 0x0a]));
    expect((await place.rota(["submit", "latin.yaml"])).err).toMatch(
      /^PLAN_UNREADABLE: latin\.yaml is not text in UTF-8/,
    );
    expect((await unserved().rota(["submit", join(place.cwd, "bad.yaml")])).err).toMatch(/^DAEMON_MISSING/);
  });
});

describe("pause and resume", () => {
  test("hold a pool, a run, a task with what depends on it, or everything", async () => {
    const place = await served();
    const run = await place.submit(POOLED);
    await join1(place);
    const isPaused = async (): Promise<boolean> => (await place.rota(["claim", "--session", "s1"])).code === 3;
    for (const scope of [["--pool", "writers"], ["--run", run], ["write"], ["write", "--run", run], []]) {
      expect(await place.says(["pause", ...scope, "--why", "release day"])).toMatch(
        /^On hold: .* What runs goes on\.\n$/,
      );
      expect(await isPaused()).toBe(true);
      expect(await place.says(["why", "write"])).toContain("is paused by mo: release day.");
      expect(await place.says(["status"])).toMatch(/On hold\n {2}‖ .* asked by mo: release day/);
      expect(await place.says(["workers"])).toMatch(/On hold\n {2}‖ .* asked by mo: release day/);
      expect(await place.says(["resume", ...scope])).toMatch(/^Resumed /);
    }
    expect((await place.rota(["resume"])).err).toMatch(/^NOT_PAUSED: There is no pause of everything/);
    expect(await isPaused()).toBe(false);
    const kinds = (await place.says(["events"])).split("\n").filter((line) => /paused|resumed/.test(line));
    expect(kinds).toHaveLength(10);
  });

  test("are refused where they name nothing, or two things", async () => {
    const place = await served();
    await place.submit(POOLED);
    expect((await place.rota(["pause", "wirte"])).err).toMatch(/^TASK_UNKNOWN: .*Did you mean "write"\?/);
    expect((await place.rota(["pause", "--run", "none"])).err).toMatch(/^RUN_UNKNOWN/);
    for (const command of ["pause", "drain"]) {
      expect((await place.rota([command, "--pool", "writer"])).err).toMatch(
        /^POOL_UNKNOWN: .*Did you mean "writers"\?/,
      );
    }
    expect((await place.rota(["pause", "write", "--pool", "writers"])).err).toMatch(
      /^USAGE: --pool cannot be combined with a task/,
    );
    expect((await place.rota(["drain", "--pool", "p", "--run", "last"])).code).toBe(2);
  });

  test("hold where no scheduler works, for the next one to go by", async () => {
    const place = await served();
    const run = await place.submit(POOLED);
    await join1(place);
    await place.kill();
    expect(await place.says(["pause", "write", "--why", "later"])).toBe(
      `On hold: task write of ${run}. What runs goes on. No scheduler is running: the next one goes by it.\n`,
    );
    expect((await place.rota(["pause", "--pool", "nope"])).err).toMatch(/^POOL_UNKNOWN: .* names a pool "nope" \(/);
    expect(await place.json(["pause", "--pool", "writers"])).toMatchObject({ of: "pool", by: "mo", scheduler: false });
    expect(await place.says(["status"])).toMatch(/‖ task write of plan-\w+ +asked by mo: later/);
    await place.serve();
    expect(await place.rota(["claim", "--session", "s1"])).toMatchObject({ code: 3 });
    await place.kill();
    expect(await place.json(["resume", "write"])).toEqual({ resumed: true, scheduler: false });
    await place.says(["resume", "--pool", "writers"]);
    expect((await place.rota(["resume", "--pool", "writers"])).err).toMatch(/^NOT_PAUSED/);
    await place.serve();
    expect(await place.rota(["claim", "--session", "s1"])).toMatchObject({ code: 0 });
    expect((await place.rota(["doctor", "--json"])).code).toBe(0);
  });

  test("where nothing was ever kept, say that there is no daemon", async () => {
    const { rota, cwd } = unserved();
    expect((await rota(["pause"])).err).toMatch(/^DAEMON_MISSING/);
    expect((await rota(["resume"])).err).toMatch(/^DAEMON_MISSING/);
    expect(existsSync(join(cwd, ".rota"))).toBe(false);
  });
});

describe("drain", () => {
  test("says what remains, and ends as soon as nothing does", async () => {
    const place = await served();
    const run = await place.submit(POOLED);
    await join1(place);
    await place.says(["claim", "--session", "s1"]);
    expect(await place.rota(["drain", "--wait", "0s"])).toEqual({
      code: 3,
      out: `1 task still out\n  ● write  of ${run}  with s1\n`,
      err: "",
    });
    const draining = place.rota(["drain", "--pool", "writers", "--wait", "1m", "--json"]);
    await until("it is on hold", async () => /pool writers/.test(await place.says(["workers"])));
    await place.says(["complete", "write"]);
    expect(JSON.parse((await draining).out)).toEqual({ drained: true, remaining: [] });
    expect(await place.says(["drain"])).toBe(
      "Drained everything. Nothing new starts there until you run: rota resume\n",
    );
    expect(await place.rota(["claim", "--session", "s1"])).toMatchObject({ code: 3 });
    expect((await place.rota(["drain", "--wait", "2h"])).err).toMatch(/^USAGE: --wait can be 10m at most/);
  });
});

describe("edit", () => {
  test("changes what waits, as a plan would say it", async () => {
    const place = await served();
    const run = await place.submit(POOLED);
    const set = ["--set", "priority=critical", "--set", "retry.attempts=5", "--set", "title=Look again"];
    expect(await place.says(["edit", "check", ...set, "--why", "urgent"])).toBe(
      `Changed priority, retry, title of task check of run ${run}.\n`,
    );
    expect(await place.json(["why", "check"])).toMatchObject({ priority: "critical", title: "Look again" });
    await place.says(["edit", "check", "--json-changes", '{"priority":"low"}']);
    expect(await place.json(["why", "check"])).toMatchObject({ priority: "low" });
  });

  test("refuses what cannot be changed, and what is not of the form", async () => {
    const place = await served();
    await place.submit(POOLED);
    await join1(place);
    const refused = async (...args: string[]): Promise<string> => (await place.rota(["edit", ...args])).err;
    expect(await refused("check")).toMatch(/^USAGE: What is to be changed\? \(Such as: rota edit/);
    expect(await refused("check", "--set", "priority")).toMatch(/^USAGE: "priority" is not of the form NAME=VALUE/);
    expect(await refused("check", "--set", "a=1", "--json-changes", "{}")).toMatch(/^USAGE/);
    expect(await refused("check", "--set", "priority=urgent")).toMatch(/^CANNOT_EDIT: /);
    expect(await refused("check", "--set", "needs=[]")).toMatch(/^CANNOT_EDIT: /);
    await place.says(["claim", "--session", "s1"]);
    expect(await refused("write", "--set", "priority=high")).toMatch(/^CANNOT_EDIT: Task write is claimed/);
  });
});

describe("what people ask of a run goes through the daemon", () => {
  test("cancel stops what runs, and is refused for what has ended", async () => {
    const place = await served();
    const run = await place.submit(`${HELD}  after: { run: 'true', needs: [held] }\n`);
    await until("it runs", isState(place, "held", "running"));
    expect(await place.says(["cancel", "--why", "enough"])).toBe(`Cancelled run ${run}.\n`);
    expect((await place.rota(["cancel"])).err).toMatch(/^CANNOT_CANCEL: Run .* has ended \(cancelled\)/);
    expect(await place.says(["events", "--json"])).toMatch(/"kind":"run_cancelling","by":"mo","why":"enough"/);
  });

  test("approve opens a gate, and a stalled run goes on", async () => {
    const place = await served();
    const run = await place.submit("  gated: { run: 'echo on > done', gate: Really? }\n");
    await until("it is stalled", async () => (await place.json<{ state: string }>(["status"])).state === "waiting");
    expect(await place.json(["approve", "gated"])).toEqual({
      ...{ request: "approve", run, task: "gated", answer: "done", scheduler: true },
    });
    await until("it ran", async () => existsSync(join(place.cwd, "done")));
    expect((await place.rota(["requeue", "gated"])).err).toMatch(/^CANNOT_REQUEUE/);
  });

  test("retry hands the new run over, and waits for it as run does", async () => {
    const place = await served();
    await place.submit("  once: { run: 'echo x >> once' }\n  late: { run: 'test -f ready', needs: [once] }\n");
    await until("it failed", async () => (await place.json<{ state: string }>(["status"])).state === "failed");
    const failed = await startRota(["retry"], { cwd: place.cwd }).ended;
    expect(failed).toMatchObject({ code: 1, err: "" });
    writeFileSync(join(place.cwd, "ready"), "");
    const handed = await place.rota(["retry", "--no-wait"]);
    expect(handed).toMatchObject({
      code: 0,
      err: expect.stringMatching(/^Run plan-\w+ tries plan-\w+ again: 2 tasks/),
    });
    await until("it succeeded", async () => (await place.json<{ state: string }>(["status"])).state === "succeeded");
    expect(readFileSync(join(place.cwd, "once"), "utf8")).toBe("x\n");
    expect((await place.rota(["retry"])).err).toMatch(/^NOTHING_TO_RETRY/);
    expect((await place.rota(["retry", "lat"])).err).toMatch(/^TASK_UNKNOWN: .*Did you mean "late"\?/);
  });
});

describe("a look from outside says what the daemon says", () => {
  test("of tasks of a pool: no session there, no session idle, on hold, with another, in line", async () => {
    const place = await served();
    const other = await place.submit("  theirs: { pool: writers, prompt: x }\n");
    const run = await place.submit(`${POOLED}  apart: { pool: others, prompt: x, requires: [cuda] }\n`);
    await using client = connect({ state: join(place.cwd, ".rota") });
    const same = async (): Promise<void> => {
      for (const task of ["write", "check", "apart"]) {
        const here = await place.json<object>(["why", task, "--run", run]);
        const there = (await client.why(run, task)) as object;
        expect(timeless(here)).toEqual(timeless(there));
      }
      expect(timeless(await place.json(["status", run]))).toEqual(timeless(await client.status(run)));
    };
    await same();
    await place.says(["session", "join", "--pool", "writers", "--id", "s1"]);
    await same();
    await place.says(["claim", "theirs", "--run", other, "--session", "s1"]);
    await same();
    expect(await place.json(["why", "write"])).toMatchObject({ wait: { reason: "capacity", workers: 1, idle: 0 } });
    await place.says(["pause", "--pool", "writers"]);
    await same();
    await place.says(["resume", "--pool", "writers"]);
    await place.says(["session", "join", "--pool", "others", "--id", "o1"]);
    await same();
    expect(await place.json(["why", "apart"])).toMatchObject({ wait: { reason: "no-match", missing: ["cuda"] } });
  });

  /** Without the moment at which it was asked. */
  const timeless = (value: unknown): unknown =>
    JSON.parse(
      JSON.stringify(value, (key, each: unknown) => (key === "at" || key.endsWith("age_ms") ? undefined : each)),
    );
});

test("tokens are issued once, listed without their secrets, and revoked", async () => {
  const place = await served({}, "--listen", "127.0.0.1:0");
  const { out, err } = await place.rota(["token", "issue", "laptop", "--scope", "read", "--expires", "1h"]);
  const token = out.trim();
  const id = /^Token (\S+) has the scope read\./.exec(err)?.[1] as string;
  expect(token).toContain(id);
  const listed = await place.says(["token", "list"]);
  expect(listed).toMatch(new RegExp(`^${id} +laptop +read +issued \\d+s ago +expires in \\d+m`));
  expect(listed).not.toContain(token);
  expect(await place.says(["token", "revoke", id])).toBe(`Token ${id} is revoked.\n`);
  expect(await place.json<{ tokens: object[] }>(["token", "list"])).toMatchObject({ tokens: [{ id, name: "laptop" }] });
  expect((await place.rota(["token", "revoke", "absent"])).err).toMatch(
    /^TOKEN_UNKNOWN: .*\(`rota token list` shows them/,
  );
  expect((await place.rota(["token", "issue", "x", "--scope", "all"])).err).toMatch(
    /^USAGE: token issue: --scope must be/,
  );
});

test("a daemon on a socket of its own is found by it, and by its state directory", async () => {
  const place = unserved();
  await place.serve("--socket", "else.sock");
  expect((await place.rota(["workers"])).code).toBe(0);
  expect((await place.rota(["workers", "--socket", "else.sock"])).code).toBe(0);
  expect((await place.rota(["workers"], { ROTA_SOCKET: join(place.cwd, "else.sock") })).code).toBe(0);
});

test("schema prints those of plans, settings, the API and what commands print", async () => {
  const place = unserved();
  const schema = async (what: string): Promise<object> => JSON.parse(await place.says(["schema", what])) as object;
  expect(await schema("openapi")).toMatchObject({ openapi: "3.1.0", paths: { "/v1/claims": {} } });
  expect(await schema("config")).toMatchObject({ properties: { sessionTtl: {} } });
  expect(await schema("plan")).toMatchObject({ $defs: { task: {} } });
  expect(await schema("output")).toMatchObject({
    $defs: { Why: { properties: { gates: {} } } },
    properties: { why: { $ref: "#/$defs/Why" }, pause: { properties: { of: {} } } },
  });
  expect((await place.rota(["schema", "plam"])).err).toContain('Did you mean "plan"?');
});
