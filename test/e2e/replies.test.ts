/** What commands print with `--json` and what the API answers has its shape, field by field: nothing is missing, and nothing is there that no schema knows. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { COMMANDS } from "../../src/cli/frame/commands.ts";
import { Problems } from "../../src/std/problems.ts";
import type { Schema } from "../../src/std/schema.ts";
import type { Grant, Submitted } from "../../src/wire/answers.ts";
import { connect } from "../../src/wire/client.ts";
import { OUTPUTS, type OutputName } from "../../src/wire/replies/output.ts";
import type { Route } from "../../src/wire/route.ts";
import { ROUTES, type RouteName } from "../../src/wire/routes.ts";
import { spawnRota } from "../rig/cli.ts";
import { type Served, unserved } from "../rig/served.ts";

const PLAN = `name: plan
tasks:
  fine: { run: 'true', title: It works }
  fails: { run: 'exit 3', needs: [fine] }
  skipped: { run: 'true', needs: [fails] }
  slow: { run: [sleep, '60'], after: [fails], timeout: { soft: 50ms, hard: 1m } }
  missing: { run: [./nothing], after: [slow] }
  killed: { run: 'kill -9 $$', after: [missing] }
`;
const POOLED = `name: pooled
resources: { calls: 2/h, slots: 1 }
tasks:
  called: { run: 'true', resources: { calls: 2 }, priority: high }
  rated: { run: 'true', resources: { calls: 1 }, after: [called] }
  holds: { run: [sleep, '600'], resources: { slots: 1 }, writes: [out/] }
  short: { run: 'true', resources: { slots: 1 }, after: [called] }
  files: { run: 'true', writes: [out/a], after: [called] }
  write: { pool: writers, prompt: Write it, retry: { attempts: 3, backoff: 1h, max: 1h }, title: Prose }
  check: { pool: writers, run: [make, check], needs: [write], labels: { kind: test } }
  magic: { pool: writers, prompt: Conjure, requires: [magic] }
  gated: { pool: writers, prompt: Publish, gate: Really? }
  pushed: { pool: pushed, prompt: Push it }
  again: { pool: pushed, prompt: Push it again }
`;

/** Reads what was said with the schema, strictly, and remembers for whom. */
class Checker<Name extends string> {
  readonly seen = new Set<string>();

  check(name: Name, shape: Schema<unknown>, value: unknown): unknown {
    const problems = new Problems(name);
    const read = shape.read(value, problems);
    expect({ of: name, problems: problems.list.map(({ path, message }) => [path.join("."), message]) }).toEqual({
      of: name,
      problems: [],
    });
    this.seen.add(name);
    return read;
  }
}

/** Commands with `--json`, each held against its shape. */
function commandsIn(place: Served, outputs: Checker<OutputName>) {
  return async (name: OutputName, ...args: readonly string[]): Promise<unknown> => {
    const [words, flag] = name.split(" --");
    const line = [...(words as string).split(" "), ...(flag === undefined ? [] : [`--${flag}`]), ...args, "--json"];
    const runs = name === "run" || name === "retry" || name === "soak";
    const { out, err } = await (runs
      ? spawnRota(line, { cwd: place.cwd, env: { ROTA_GRACE: "100ms" } })
      : place.rota(line));
    expect(out, `rota ${line.join(" ")} said: ${err}`).not.toBe("");
    for (const text of name === "events" ? out.trim().split("\n") : [out.trim().split("\n").at(-1) as string])
      outputs.check(name, OUTPUTS[name], JSON.parse(text));
    return JSON.parse(out.trim().split("\n").at(-1) as string);
  };
}

test("each command with --json has a shape", () => {
  const withJson = COMMANDS.filter(({ options }) => "json" in options).map(({ name }) => name);
  expect(new Set(Object.keys(OUTPUTS).map((name) => name.split(" --")[0]))).toEqual(new Set(withJson));
});

test("each call has a shape for its answer, but those that answer nothing and the document itself", () => {
  const shapeless = (Object.entries(ROUTES) as [string, Route][]).filter(([, { answer }]) => answer === undefined);
  expect(shapeless.map(([name]) => name)).toEqual(["leave", "openapi", "revokeToken"]);
});

test("what is said in a story of runs, sessions, pauses and refusals fits its shapes", async () => {
  const outputs = new Checker<OutputName>();
  await runsAlone(outputs);
  await withDaemon(outputs);
  expect(Object.keys(OUTPUTS).filter((name) => !outputs.seen.has(name))).toEqual([]);
});

async function runsAlone(outputs: Checker<OutputName>): Promise<void> {
  const place = unserved();
  const says = commandsIn(place, outputs);
  writeFileSync(join(place.cwd, "plan.yaml"), PLAN);
  writeFileSync(join(place.cwd, "bad.yaml"), "tasks:\n  a: { run: x, needs: [b] }\n");
  writeFileSync(join(place.cwd, "stuck.yaml"), "resources: { s: 1 }\ntasks:\n  a: { run: x, requires: [magic] }\n");
  writeFileSync(join(place.cwd, "gated.yaml"), "tasks:\n  a: { run: 'true', gate: Really? }\n");
  for (const plan of ["plan.yaml", "bad.yaml", "none.yaml"]) await says("check", plan);
  await says("simulate", "plan.yaml", "--what-if", "workers=1");
  await says("simulate", "stuck.yaml");
  await says("config");
  await says("run --dry-run", "gated.yaml");
  await says("run --dry-run", "plan.yaml", "--only", "fails", "--resume");
  await says("run", "plan.yaml", "--workers", "1");
  for (const task of PLAN.matchAll(/^ {2}(\w+): \{ run/gm)) await says("why", task[1] as string);
  await says("status");
  await says("timeline");
  await says("retry", "--workers", "1");
  await says("pause", "--why", "for the night");
  await says("resume");
  await says("run", "gated.yaml");
  await says("approve", "a");
  await says("why", "a");
  await says("cancel");
  await says("status");
  await says("status --all");
  await says("events");
  await says("doctor");
  await says("prune", "--dry-run", "--older-than", "0s", "--keep", "0");
  await says("soak", "--seeds", "1");
}

async function withDaemon(outputs: Checker<OutputName>): Promise<void> {
  const place = unserved();
  const says = commandsIn(place, outputs);
  writeFileSync(join(place.cwd, "rota.config.yaml"), "pools: { pushed: { mode: push } }\n");
  writeFileSync(join(place.cwd, "pooled.yaml"), POOLED);
  writeFileSync(join(place.cwd, "quick.yaml"), "name: quick\ntasks:\n  a: { run: 'exit 1' }\n");
  const daemon = await place.serve("--json", "--listen", "127.0.0.1:0");
  await daemon.says(/"pid"/);
  outputs.check("serve", OUTPUTS.serve, JSON.parse(daemon.said.out));
  await says("submit --wait", "quick.yaml");
  await says("retry --no-wait");
  await says("submit", "pooled.yaml");
  await says("session join", "--pool", "writers", "--id", "s1", "--workspace", place.cwd, "--channel", "c1");
  await says("session join", "--pool", "writers", "--id", "s2", "--slots", "2");
  await says("session beat", "s1", "--is", "busy");
  await says("session wait", "s2", "--wait", "1m");
  await says("claim", "write", "--session", "s2");
  await says("start", "write");
  await says("heartbeat", "write");
  await says("progress", "write", "half of it");
  await says("status");
  await says("workers");
  await says("why", "write");
  await says("fail", "write", "--kind", "rate-limit", "--reset", "1h");
  for (const task of ["write", "check", "magic", "gated", "pushed", "rated", "holds", "short", "files"])
    await says("why", task);
  await says("pause", "--pool", "writers", "--why", "release day");
  await says("status");
  await says("why", "write");
  await says("drain", "--wait", "0s");
  await says("resume", "--pool", "writers");
  await says("resume");
  await says("edit", "write", "--set", "retry.backoff=1ms", "--set", "labels.kind=late");
  await says("approve", "gated");
  await says("claim", "gated", "--session", "s2");
  await says("fail", "gated", "--kind", "auth", "--message", "not logged in");
  await says("why", "gated");
  await says("requeue", "gated");
  await says("claim", "gated", "--session", "s2");
  await says("release", "gated", "--why", "not mine");
  await says("claim", "gated", "--session", "s2");
  await says("cancel", "gated");
  await says("heartbeat", "gated");
  await says("fail", "gated", "--kind", "cancelled");
  await says("cancel");
  await says("session leave", "s1");
  await says("claim", "--session", "s2");
  const { id } = (await says("token issue", "laptop", "--expires", "1h")) as { id: string };
  await says("token list");
  await says("token revoke", id);
  await says("submit", "pooled.yaml");
  await says("claim", "write", "--session", "s2");
  await says("complete", "write", "--summary", "Two pages");
  await answersOf(place);
  await says("events");
}

/** Every call there is, on a run of which nothing has begun. */
async function answersOf({ cwd }: Served): Promise<void> {
  const answers = new Checker<RouteName>();
  await using rota = connect({ state: join(cwd, ".rota") });
  const check = async (name: RouteName, answer: Promise<unknown>): Promise<unknown> =>
    answers.check(name, (ROUTES[name] as Route).answer as Schema<unknown>, await answer);
  const claim = async (session: string) => {
    const { run, task, fence, token } = (await check("claim", rota.claim({ session, waitMs: 10_000 }))) as Grant;
    return { run, task, fence, token };
  };

  const text = "name: small\ntasks:\n  one: { pool: p, prompt: x, gate: Really? }\n  two: { pool: p, prompt: y }\n";
  const { run } = (await check(
    "submit",
    rota.submit({ text, file: join(cwd, "small.yaml"), directory: cwd }),
  )) as Submitted;
  await check("info", rota.info());
  await check("runs", rota.runs());
  await check("join", rota.join({ session: "a1", pool: "p", slots: 2 }));
  await check("beat", rota.beat("a1", { state: "idle" }));
  await check("sessions", rota.sessions());
  await check("cycle", rota.cycle());
  await check("wake", rota.wake("a1", 10_000));
  await check("stats", rota.stats());
  const first = await claim("a1");
  await check("start", rota.start(first));
  await check("heartbeat", rota.heartbeat(first));
  await check("progress", rota.progress({ ...first, note: "half of it" }));
  await check("status", rota.status(run));
  await check("manifest", rota.manifest(run));
  await check("why", rota.why(run, "two"));
  await check("workers", rota.workers());
  await check("fail", rota.fail({ ...first, kind: "auth" }));
  await check("requeue", rota.requeue({ run, task: "two" }));
  await check("edit", rota.edit({ run, task: "two", changes: '{"priority":"high"}' }));
  await check("release", rota.release(await claim("a1")));
  await check("pause", rota.pause({ run }));
  await check("drain", rota.drain({ run, waitMs: 0 }));
  await check("resume", rota.resume({ run }));
  await check("complete", rota.complete(await claim("a1")));
  await check("approve", rota.approve({ run, task: "one" }));
  await check("cancel", rota.cancel({ run }));
  await check("outcome", rota.await(run, 10_000));
  await check("retry", rota.retry({ run }));
  await rota.join({ session: "b1", pool: "pushed" });
  await check("assignment", rota.assignment("b1", 10_000));
  await check("events", rota.events({ limit: 10_000 }));
  await check("issueToken", rota.issueToken({ name: "laptop", scope: "read" }));
  await check("tokens", rota.tokens());
  const listening = new AbortController();
  const wakes = rota.wakes(
    "a1",
    (wake) => {
      answers.check("wakes", ROUTES.wakes.answer as Schema<unknown>, wake);
      listening.abort();
    },
    listening.signal,
  );
  await rota.submit({ text, file: join(cwd, "small.yaml"), directory: cwd });
  await wakes;
  const answering = (Object.entries(ROUTES) as [string, Route][]).filter(([, { answer }]) => answer !== undefined);
  expect(answering.map(([name]) => name).filter((name) => !answers.seen.has(name))).toEqual([]);
}
