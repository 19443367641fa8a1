/** The commands of a worker: joining, claiming and reporting, against a real daemon. */
import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { inState, type Served, served, unserved } from "../rig/served.ts";

const MAIN = resolve(import.meta.dirname, "../../src/cli/main.ts");
const ONE = "  write: { pool: writers, prompt: Write it, retry: { attempts: 2, backoff: 0s } }\n";
const TWO = "  one: { pool: writers, prompt: Do one }\n  two: { pool: writers, prompt: Do two, needs: [one] }\n";

interface Grant {
  readonly run: string;
  readonly task: string;
  readonly fence: number;
  readonly token: string;
}
interface Event {
  readonly kind: string;
  readonly task?: string;
  readonly [field: string]: unknown;
}

async function joined(place: Served, ...options: string[]): Promise<string> {
  return (await place.says(["session", "join", "--pool", "writers", ...options])).trim();
}
const events = async (place: Served): Promise<readonly Event[]> =>
  (await place.says(["events", "--json"]))
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Event);
const stateOf = async (place: Served, task: string): Promise<string> =>
  (await place.json<{ state: string }>(["why", task])).state;

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const end = AbortSignal.timeout(30_000);
  while (!end.aborted) {
    if (await holds()) return;
    // A look at the disk alone lets no time pass, and then this would never end.
    await new Promise((next) => setImmediate(next));
  }
  throw new Error(`never: ${what}`);
}

/** Kept once a heartbeat was heard. */
const begun = (place: Served, task: string): Promise<void> =>
  until(`${task} begins`, async () => (await stateOf(place, task)) === "running");

describe("a session", () => {
  test("joins, claims, reports and leaves, knowing only its tasks' names", async () => {
    const place = await served();
    const run = await place.submit(TWO);
    const session = await place.rota(["session", "join", "--agent", "claude", "--pool", "writers", "--ttl", "15m"]);
    const id = session.out.trim();
    expect(session.out).toMatch(/^claude-[0-9a-f]{6}\n$/);
    expect(session.err).toBe(`Joined pool writers (pull) as ${id}. A task is kept for 15m without a sign of life.\n`);
    const env = { ROTA_SESSION: id };

    const claimed = await place.says(["claim"], env);
    expect(claimed).toContain(`● one  attempt 1 · normal · ${run}\n\n  Do one\n`);
    expect(claimed).toContain("rota complete one --summary TEXT");
    expect(await place.says(["start", "one"], env)).toMatch(/^one is yours until \d\d:\d\d:\d\d\.\n$/);
    expect(await place.says(["progress", "one", "half", "done"], env)).toMatch(/^one is yours until/);
    expect(await place.says(["complete", "one", "--summary", "well"], env)).toBe(`one of ${run} is succeeded.\n`);

    expect(await place.json<Grant>(["claim"], env)).toMatchObject({ task: "two", fence: 1, prompt: "Do two" });
    expect(await place.says(["release", "two", "--why", "not mine"], env)).toMatch(/is ready: it will be tried again/);
    expect(await place.json<Grant>(["claim"], env)).toMatchObject({ task: "two", fence: 2 });
    expect(await place.json(["complete", "two"], env)).toMatchObject({ state: "succeeded", repeated: false });
    expect(await place.json(["status"])).toMatchObject({ state: "succeeded" });
    expect(await place.says(["session", "leave"], env)).toBe(`${id} has left.\n`);
    expect((await place.rota(["claim"], env)).err).toMatch(/^SESSION_UNKNOWN: .*\(Join first/);
    expect((await events(place)).map(({ kind }) => kind)).toEqual(
      expect.arrayContaining(["session_joined", "claimed", "started", "noted", "released", "session_left"]),
    );
  });

  test("waits for a task until there is one", async () => {
    const place = await served();
    const session = await joined(place);
    const none = await place.rota(["claim", "--session", session]);
    expect(none).toEqual({
      code: 3,
      out: "",
      err: "There is nothing to claim now. With --wait 10m the claim waits for a task.\n",
    });
    expect(await place.rota(["claim", "--session", session, "--json"])).toMatchObject({ code: 3, out: "null\n" });
    const waiting = place.rota(["claim", "--session", session, "--wait", "1m", "--json"]);
    await place.submit(ONE);
    expect(JSON.parse((await waiting).out)).toMatchObject({ task: "write" });
  });

  test("is woken for a task that is then kept for it", async () => {
    const place = await served();
    const [first, second] = [await joined(place, "--id", "first"), await joined(place, "--id", "second")];
    expect(await place.rota(["session", "wait", first, "--wait", "0s"])).toMatchObject({ code: 3, out: "" });
    const woken = place.rota(["session", "wait", first, "--wait", "1m", "--json"]);
    const run = await place.submit(ONE);
    expect(JSON.parse((await woken).out)).toMatchObject({ run, task: "write", reason: "offered" });
    expect(await place.rota(["claim", "--session", second])).toMatchObject({ code: 3 });
    expect((await place.json<{ wait: object }>(["why", "write"])).wait).toMatchObject({
      reason: "offered",
      session: first,
    });
    expect((await place.rota(["claim", "--session", first])).code).toBe(0);
  });

  test("says how it is, and is left alone meanwhile", async () => {
    const place = await served();
    const session = await joined(place);
    expect(await place.says(["session", "beat", session, "--is", "prompting"])).toBe(
      `${session} is prompting  pool writers · holds 0 of 1\n`,
    );
    const { workers } = await place.json<{ workers: readonly object[] }>(["workers"]);
    expect(workers.at(-1)).toMatchObject({ worker: session, kind: "session", pool: "writers", state: "prompting" });
    expect((await place.rota(["session", "beat", session, "--is", "sleepy"])).err).toMatch(
      /^USAGE: session beat: --is/,
    );
  });

  test("is shown among the workers with what it does and when it was seen", async () => {
    const place = await served({}, "--workers", "1");
    const run = await place.submit(ONE);
    const session = await joined(place, "--id", "s1", "--capability", "a", "--capability", "b", "--slots", "2");
    await place.says(["claim", "--session", session]);
    expect(await place.says(["workers"])).toMatch(
      new RegExp(
        `^○ local/1  local +idle\\n● s1 +writers · agent +(busy|idle) +write of ${run} +\\d+s +seen \\d+s ago\\n$`,
      ),
    );
    const { workers } = await place.json<{ workers: readonly object[] }>(["workers"]);
    expect(workers[1]).toMatchObject({ worker: "s1", task: "write", run, capabilities: ["a", "b"], slots: 2 });
  });

  test("in a pool that assigns, takes what was assigned to it", async () => {
    const place = await served({ ROTA_POOLS: '{"writers":{"mode":"push"}}' });
    const session = await joined(place);
    expect((await place.rota(["claim", "--session", session])).err).toMatch(/^SELF_CLAIM_DISABLED/);
    const assigned = place.rota(["claim", "--assigned", "--session", session, "--wait", "1m", "--json"]);
    await place.submit(ONE);
    expect(JSON.parse((await assigned).out)).toMatchObject({ task: "write" });
    expect((await place.rota(["start", "write"])).code).toBe(0);
    expect((await place.rota(["complete", "write"])).code).toBe(0);
  });
});

describe("why a task of a pool waits", () => {
  const NEXT = /^Next\n(?: {2}.*\n)+/m;

  test("no session has joined: how to join", async () => {
    const place = await served();
    await place.submit("  review: { pool: writers, prompt: Review it, requires: [rust] }\n");
    const why = await place.says(["why", "review"]);
    expect(why).toMatch(/^○ review waits for a session of pool writers: none has joined, it needs rust\.\n/);
    expect(why).toContain("  rota session join --pool writers --capability rust  join as a session that may");
    const status = await place.says(["status"]);
    expect(status).toMatch(/^ {2}for a session {2}1 {2}review .*no session has joined pool writers$/m);
    expect(status).not.toContain("impossible");
  });

  test("sessions are there and none claims: which, and how one takes it; nothing is expected at once", async () => {
    const place = await served({ ROTA_WAKE_INTERVAL: "1h" });
    for (const id of ["s1", "s2", "s3"]) await place.says(["session", "join", "--pool", "writers", "--id", id]);
    await place.says(["session", "join", "--pool", "writers", "--id", "far", "--workspace", "elsewhere"]);
    const run = await place.submit(
      "  write: { pool: writers, prompt: Write it }\n  more: { pool: writers, prompt: More }\n",
    );
    place.start(["claim", "--session", "s2", "--priority", "critical", "--wait", "1m"]);
    await place.says(["claim", "more", "--session", "s3"]);
    const claims = async (): Promise<boolean> => /s2 .*waits in a claim/.test(await place.says(["why", "write"]));
    await until("its claim waits", claims);
    const why = await place.says(["why", "write"]);
    expect(why.replaceAll(run, "RUN")).toMatchInlineSnapshot(`
      "○ write is ready, and no session of pool writers has claimed it: 2 of 3 idle.

        ✔  sessions  2 of 4 in pool writers free to take it

      Sessions of pool writers
        ○ s1   idle  waits in no claim
        ○ s2   idle  waits in a claim for other work
        ● s3   busy
        ○ far  idle  may not take it

        in line  1 of 1 ready at normal priority
        rank     1 step to the end of the plan

      Next
        rota claim write --session s1  take it as s1
        rota workers                   who is there, and what each does
      "
    `);
    expect(await place.says(["why", "write"])).not.toMatch(/expected|about to start/);
    const { pool, wait } = await place.json<Why>(["why", "write"]);
    expect(wait).toEqual({ reason: "capacity", workers: 3, idle: 2, pool: "writers" });
    expect(pool.sessions.map(({ session, state, suits, claiming }) => [session, state, suits, claiming])).toEqual([
      ["s1", "idle", true, false],
      ["s2", "idle", true, true],
      ["s3", "busy", true, false],
      ["far", "idle", false, false],
    ]);
    // What is printed works as it stands.
    const [, claim = ""] = /^ {2}(rota claim write --session s1) /m.exec(NEXT.exec(why)?.[0] ?? "") ?? [];
    expect(await place.says(claim.split(" ").slice(1))).toContain("● write  attempt 1");
  });

  test("every session is busy: that, and not that it is about to start", async () => {
    const place = await served();
    await place.says(["session", "join", "--pool", "writers", "--id", "s1"]);
    await place.submit("  write: { pool: writers, prompt: Write it }\n  more: { pool: writers, prompt: More }\n");
    await place.says(["claim", "write", "--session", "s1"]);
    expect(await place.says(["why", "more"])).toContain(
      "is ready, but every session of pool writers that may take it is busy.",
    );
    await place.kill();
    expect(await place.says(["why", "more"])).toContain("more is ready, but no scheduler is running.");
  });

  interface Why {
    readonly wait: object;
    readonly pool: { readonly sessions: readonly Readonly<Record<string, unknown>>[] };
  }
});

describe("a lease", () => {
  test("is kept in a private file, and its token stands nowhere else", async () => {
    const place = await served();
    const run = await place.submit(ONE);
    const session = await joined(place, "--id", "s1");
    const { token } = await place.json<Grant>(["claim", "--session", session]);
    const file = join(place.cwd, ".rota/leases/s1", run, "write.json");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({ session, run, task: "write", fence: 1, token });
    const seen = [
      await place.says(["claim", "--session", session, "--key", "x"]).catch(String),
      await place.says(["events", "--json"]),
      await place.says(["status", "--json"]),
      await place.says(["workers", "--json"]),
      inState(place, "rota.db"),
      existsSync(join(place.cwd, ".rota/rota.db-wal")) ? inState(place, "rota.db-wal") : "",
    ];
    for (const text of seen) expect(text).not.toContain(token);
    await place.says(["complete", "write"]);
    expect(existsSync(file)).toBe(false);
  });

  test("can be proved with a token from the environment or from standard input", async () => {
    const place = await served();
    await place.submit(TWO);
    const session = await joined(place);
    const one = await place.json<Grant>(["claim", "--session", session]);
    const named = ["--run", one.run, "--fence", "1"];
    await place.says(["heartbeat", "one", ...named], { ROTA_TOKEN: one.token });
    expect((await place.rota(["heartbeat", "one", ...named], { ROTA_TOKEN: "wrong" })).err).toMatch(/^TOKEN_WRONG/);
    // What is no token of a lease, or says not of which, does not stand in the way of the file.
    await place.says(["heartbeat", "one"], { ROTA_TOKEN: "wrong" });
    await place.says(["heartbeat", "one", ...named], { ROTA_TOKEN: "rota_a1b2c3_for-tcp" });
    const alone = await fed(place.cwd, ["complete", "one", "--token-stdin"], one.token);
    expect(alone).toMatchObject({ code: 2, err: expect.stringMatching(/^USAGE: .*--run is missing/) });
    const { code, err } = await fed(place.cwd, ["complete", "one", ...named, "--token-stdin"], `${one.token}\n`);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(await stateOf(place, "one")).toBe("succeeded");
  });

  test("that was lost cannot be reported on, and the next holder's is safe from the last one", async () => {
    const place = await served();
    const run = await place.submit(ONE);
    await joined(place, "--id", "quick");
    await joined(place, "--id", "slow", "--ttl", "3s");
    await place.says(["claim", "--session", "slow"]);
    // Answered as soon as the first lease has run out.
    expect(await place.json<Grant>(["claim", "--session", "quick", "--wait", "1m"])).toMatchObject({ fence: 2 });
    expect((await place.rota(["complete", "write"])).err).toMatch(/^LEASE_UNKNOWN: Several leases of write are kept/);
    const late = await place.rota(["complete", "write", "--session", "slow"]);
    expect(late).toMatchObject({
      code: 2,
      err: expect.stringMatching(/^LEASE_LOST: Claim 1 of write .*\(Stop working/),
    });
    expect(readdirSync(join(place.cwd, ".rota/leases/slow", run))).toEqual([]);
    expect(await stateOf(place, "write")).toMatch(/claimed|running/);
    expect(await events(place)).toContainEqual(expect.objectContaining({ kind: "late_report_refused", task: "write" }));
    await place.says(["complete", "write", "--session", "quick"]);
  });

  test("is told from a newer one of the same session by the fence that the shell remembers", async () => {
    const place = await served();
    const run = await place.submit(ONE);
    const session = await joined(place);
    const env = { ROTA_SESSION: session, ROTA_RUN: run, ROTA_TASK: "write", ROTA_FENCE: "1" };
    await place.says(["claim"], env);
    await place.says(["release", "write"], env);
    await place.says(["claim"], env);
    expect((await place.rota(["complete", "write"], env)).err).toMatch(
      /^LEASE_LOST: Claim 1 of write .* claim 2 has it/,
    );
    await place.says(["complete", "write"], { ...env, ROTA_FENCE: "2" });
  });

  test("under one key is one lease, also for a second caller", async () => {
    const place = await served();
    await place.submit(TWO);
    const session = await joined(place);
    const first = await place.json<Grant>(["claim", "--session", session, "--key", "k1"]);
    expect(await place.json<Grant>(["claim", "--session", session, "--key", "k1"])).toEqual(first);
  });

  test("that ends in failure says how, and the task is tried again as its plan says", async () => {
    const place = await served();
    await place.submit(ONE);
    const session = await joined(place);
    await place.says(["claim", "--session", session]);
    const failed = ["fail", "write", "--code", "7", "--message", "the tests\u001b[2J do not pass"];
    expect(await place.says(failed)).toMatch(/is ready: it will be tried again\.\n$/);
    await place.says(["claim", "--session", session, "--wait", "1m"]);
    expect(await place.json(failed)).toMatchObject({ state: "failed" });
    const why = await place.says(["why", "write"]);
    expect(why).toContain("failed: exit code 7: the tests\\x1b[2J do not pass, after 2 attempts.");
    expect((await place.rota(["fail", "write", "--kind", "mood"])).err).toMatch(/^USAGE: fail: --kind must be one of/);
  });
});

describe("a holder that is to stop", () => {
  test("hears it with its next sign of life", async () => {
    const place = await served();
    await place.submit(ONE);
    const session = await joined(place);
    await place.says(["claim", "--session", session]);
    await place.says(["cancel", "write", "--why", "changed my mind"]);
    for (const verb of [
      ["heartbeat", "write"],
      ["progress", "write", "x"],
      ["start", "write"],
    ]) {
      expect(await place.rota(verb)).toEqual({
        code: 3,
        out: "Stop working on write (cancelled: changed my mind), then report with: rota fail write --kind cancelled\n",
        err: "",
      });
    }
    expect(await place.says(["fail", "write", "--kind", "cancelled"])).toMatch(/is cancelled\.\n$/);
  });

  test("because its time is up hears by when, and may still complete it", async () => {
    const place = await served();
    await place.submit("  write: { pool: writers, prompt: Write it, timeout: { soft: 200ms, hard: 1h } }\n");
    await place.says(["claim", "--session", await joined(place)]);
    await place.says(["start", "write"]);
    const told = await place.start(["heartbeat", "write", "--every", "100ms"]).ended;
    expect(told).toMatchObject({ code: 3, err: "" });
    expect(told.out).toMatch(
      /^Stop working on write: its time is up\. Before \d\d:\d\d:\d\d, report with: rota complete write, or rota fail write --kind timeout\n$/,
    );
    expect(await place.says(["complete", "write"])).toMatch(/is succeeded\.\n$/);
  });

  test("hears it from a heartbeat that goes on by itself, which ends with the task otherwise", async () => {
    const place = await served();
    await place.submit(TWO);
    const session = await joined(place);
    await place.says(["claim", "--session", session]);
    const beating = place.start(["heartbeat", "one", "--every", "100ms"]);
    await begun(place, "one");
    await place.says(["complete", "one"]);
    expect(await beating.ended).toEqual({ code: 0, out: "", err: "" });

    await place.says(["claim", "--session", session]);
    const second = place.start(["heartbeat", "two", "--every", "100ms"]);
    await begun(place, "two");
    await place.says(["cancel", "two"]);
    expect(await second.ended).toMatchObject({ code: 3, out: expect.stringMatching(/^Stop working on two/) });
  });

  test("need not be renewed where the work was quicker", async () => {
    const place = await served();
    const run = await place.submit(ONE);
    const env = { ROTA_SESSION: await joined(place), ROTA_RUN: run, ROTA_TASK: "write", ROTA_FENCE: "1" };
    await place.says(["claim"], env);
    await place.says(["complete", "write"], env);
    expect(await place.rota(["heartbeat", "write", "--every", "1m"], env)).toEqual({ code: 0, out: "", err: "" });
    expect((await place.rota(["heartbeat", "write"], env)).err).toMatch(/^LEASE_UNKNOWN/);
  });
});

describe("a daemon that is killed and comes back", () => {
  test("finds sessions and leases as they were", async () => {
    const place = await served();
    await place.submit(TWO);
    const session = await joined(place);
    await place.says(["claim", "--session", session]);
    await place.kill();
    expect((await place.rota(["complete", "one"])).err).toMatch(/^DAEMON_MISSING: .*\(Start one with `rota serve`/);
    const completing = place.rota(["complete", "one", "--wait", "1m"]);
    await place.serve();
    expect(await completing).toMatchObject({ code: 0, out: expect.stringMatching(/is succeeded\.\n$/) });
    expect(await place.json<Grant>(["claim", "--session", session])).toMatchObject({ task: "two" });
  });

  test("is waited for by who waits for a task", async () => {
    const place = await served();
    const session = await joined(place);
    const waiting = place.rota(["claim", "--session", session, "--wait", "1m", "--json"]);
    await attended(place, session);
    await place.kill();
    await place.serve();
    await place.submit(ONE);
    expect(JSON.parse((await waiting).out)).toMatchObject({ task: "write", fence: 1 });
  });

  test("is waited for by a heartbeat that goes on by itself", async () => {
    const place = await served();
    await place.submit(ONE);
    const session = await joined(place);
    await place.says(["claim", "--session", session]);
    const beating = place.start(["heartbeat", "write", "--every", "100ms"]);
    await begun(place, "write");
    await place.kill();
    await place.serve();
    await place.says(["complete", "write"]);
    expect(await beating.ended).toEqual({ code: 0, out: "", err: "" });
  });

  test("is waited for by a heartbeat that began while it was away", async () => {
    const place = await served();
    await place.submit(ONE);
    const session = await joined(place);
    await place.says(["claim", "--session", session]);
    await place.kill();
    const beating = place.start(["heartbeat", "write", "--every", "100ms"]);
    await place.serve();
    await begun(place, "write");
    await place.says(["complete", "write"]);
    expect(await beating.ended).toEqual({ code: 0, out: "", err: "" });
  });

  /** Kept once the daemon has heard of the session after it joined: then its claim waits. */
  async function attended(place: Served, session: string): Promise<void> {
    const seen = async (): Promise<string | undefined> => {
      const { workers } = await place.json<{ workers: { worker: string; seen_at?: string }[] }>(["workers"]);
      return workers.find(({ worker }) => worker === session)?.seen_at;
    };
    const joinedAt = (await events(place)).find(({ kind }) => kind === "session_joined")?.["at"];
    const until = AbortSignal.timeout(30_000);
    while (!until.aborted) if ((await seen()) !== joinedAt) return;
    throw new Error("it never asked");
  }
});

describe("where there is no daemon", () => {
  test.each([
    [["session", "join"]],
    [["session", "leave", "s1"]],
    [["session", "beat", "s1"]],
    [["session", "wait", "s1", "--wait", "1m"]],
    [["claim", "--session", "s1", "--wait", "1m"]],
    [["heartbeat", "x", "--run", "r", "--fence", "1"]],
    [["workers"]],
    [["token", "list"]],
  ])("%j says so, and how to start one", async (args) => {
    const { rota } = unserved();
    const said = await rota(args, { ROTA_TOKEN: "t" });
    expect(said).toMatchObject({ code: 2, out: "" });
    expect(said.err).toMatch(
      /^DAEMON_MISSING: There is no daemon at .*\/\.rota\/rota\.sock \(Start one with `rota serve`/,
    );
  });

  test("reports without a lease say that first", async () => {
    const { rota } = unserved();
    for (const verb of [
      ["start", "x"],
      ["heartbeat", "x"],
      ["complete", "x"],
      ["fail", "x"],
      ["release", "x"],
    ]) {
      expect((await rota(verb)).err).toMatch(/^LEASE_UNKNOWN: No lease of x is kept here \(Claim it with `rota claim`/);
    }
    expect((await rota(["claim"])).err).toMatch(/^USAGE: Which session\? \(Name it, or set ROTA_SESSION/);
    expect((await rota(["progress", "x"])).err).toMatch(/^USAGE: progress: NOTE is missing/);
  });
});

/** A process that is given something on standard input. */
async function fed(cwd: string, args: readonly string[], input: string): Promise<{ code: number | null; err: string }> {
  const child = spawn(process.execPath, [MAIN, ...args], { cwd, stdio: ["pipe", "ignore", "pipe"] });
  let err = "";
  child.stderr.on("data", (chunk: Buffer) => (err += chunk.toString()));
  child.stdin.end(input);
  const code = await new Promise<number | null>((done) => child.on("close", done));
  return { code, err };
}
