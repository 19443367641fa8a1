/**
 * What the program says in a dozen stories is what it said before: events, JSON, exit codes, errors and text, in the files of
 * test/golden. `UPDATE=1 npx vitest run test/e2e/golden` writes them anew, and the difference is read like that of code.
 */
import { expect, test } from "vitest";
import { Golden, wordsOf } from "../rig/golden.ts";
import { until } from "../rig/rota.ts";

const STORIES: Readonly<Record<string, (golden: Golden) => Promise<void>>> = {
  async "all succeeds"(golden) {
    golden.plan(`name: plan
tasks:
  fetch: { run: 'echo one; echo two >&2; echo three', estimate: 2m, title: Get it }
  build: { run: [sh, -c, 'echo $ROTA_RUN $ROTA_TASK $ROTA_ATTEMPT $ROTA_FENCE $KIND'], needs: [fetch], env: { KIND: fast }, estimate: 3m }
  ship: { run: 'pwd', needs: [build], estimate: 2m, matrix: { to: [here, there] } }
`);
    await golden.says(["check", "plan.yaml"]);
    await golden.says(["check", "plan.yaml", "--json"]);
    await golden.says(["run", "plan.yaml", "--workers", "1"]);
    for (const form of [[], ["--json"]]) {
      await golden.says(["status", ...form]);
      await golden.says(["status", "--all", ...form]);
      await golden.says(["why", "fetch", ...form]);
      await golden.says(["timeline", ...form]);
      await golden.says(["doctor", ...form], { only: withoutTools });
      await golden.says(["workers", ...form]);
    }
    await golden.says(["timeline", "--svg"], { only: wordsOf });
    await golden.says(["logs", "fetch"]);
    await golden.says(["logs", "fetch", "--tail", "1"]);
    await golden.says(["logs", "build"]);
    await golden.says(["events"]);
    await golden.says(["events", "--task", "build"]);
    await golden.says(["run", "plan.yaml", "--workers", "1", "--json"]);
    await golden.events();
  },

  async "one fails"(golden) {
    golden.plan(`name: plan
tasks:
  first: { run: 'true', estimate: 9m }
  flaky: { run: 'echo try $ROTA_ATTEMPT; test $ROTA_ATTEMPT = 2', needs: [first], retry: { attempts: 3, backoff: 10ms }, estimate: 5m }
  bad: { run: 'echo no; exit 3', needs: [flaky], retry: { attempts: 2, backoff: 10ms, on: [3] }, estimate: 4m }
  other-code: { run: 'exit 4', needs: [bad], onFailure: continue, retry: { attempts: 2, on: [3] }, estimate: 3m }
  never: { run: 'true', needs: [bad], estimate: 2m }
  never-either: { run: 'true', needs: [never], estimate: 1m }
  missing: { run: [./not-there], after: [other-code], estimate: 1m }
`);
    await golden.says(["run", "plan.yaml", "--workers", "1"]);
    for (const form of [[], ["--json"]]) {
      await golden.says(["status", ...form]);
      for (const task of ["flaky", "bad", "never", "never-either", "missing"])
        await golden.says(["why", task, ...form]);
    }
    await golden.says(["logs", "flaky"]);
    await golden.says(["logs", "flaky", "--attempt", "1"]);
    await golden.says(["logs", "never"]);
    await golden.says(["timeline"]);
    await golden.says(["retry", "--workers", "1", "--json"]);
    await golden.events();
  },

  async "time-outs"(golden) {
    golden.plan(`name: plan
tasks:
  heeds: { run: [sleep, '600'], timeout: { soft: 100ms, hard: 10m }, estimate: 3m }
  gives-in: { run: 'exec 2>/dev/null; trap "exit 5" TERM; while :; do sleep 0.02; done', needs: [heeds], onFailure: continue, timeout: { soft: 300ms, hard: 10m }, estimate: 2m }
  ignores: { run: 'exec 2>/dev/null; trap "" TERM; while :; do sleep 0.02; done', after: [gives-in], timeout: { soft: 100ms, hard: 10m }, estimate: 2m }
  hard: { run: [sleep, '600'], after: [ignores], timeout: 100ms, retry: { attempts: 2, backoff: 1ms }, estimate: 1m }
`);
    await golden.says(["run", "plan.yaml", "--workers", "1"]);
    for (const task of ["heeds", "gives-in", "ignores", "hard"]) await golden.says(["why", task, "--json"]);
    await golden.says(["why", "hard"]);
    await golden.events();
  },

  async "a gate"(golden) {
    golden.plan(`name: plan
tasks:
  build: { run: 'true', estimate: 2m }
  ship: { run: 'true', needs: [build], gate: Ship it?, estimate: 1m }
  tell: { run: 'true', gate: true, needs: [ship], estimate: 1m }
`);
    await golden.says(["run", "plan.yaml", "--workers", "1"]);
    await golden.says(["status"]);
    await golden.says(["why", "ship"]);
    await golden.says(["why", "tell", "--json"]);
    await golden.says(["approve", "build"]);
    await golden.says(["approve", "ship", "--why", "looks good"]);
    await golden.says(["why", "ship", "--json"]);
    await golden.says(["run", "plan.yaml", "--workers", "1", "--resume", "--json"]);
    await golden.says(["approve", "tell", "--json"]);
    await golden.says(["run", "plan.yaml", "--workers", "1", "--resume"]);
    await golden.says(["approve", "tell"]);
    await golden.events();
  },

  async cancelling(golden) {
    golden.plan(`name: plan
tasks:
  one: { run: [sleep, '600'], estimate: 3m }
  two: { run: [sleep, '600'], estimate: 3m }
  three: { run: 'true', needs: [one], estimate: 1m }
  four: { run: 'true', needs: [two], estimate: 1m }
`);
    const running = golden.start("run", "plan.yaml", "--json");
    await golden.waitFor("one", "running");
    await golden.waitFor("two", "running");
    await golden.says(["run", "plan.yaml"]);
    await golden.says(["cancel", "one", "--why", "wrong branch"]);
    await golden.waitFor("one", "cancelled");
    await golden.says(["why", "three"]);
    await golden.says(["cancel", "one"]);
    await golden.says(["cancel", "--json"]);
    golden.keep("rota run plan.yaml --json", await running.ended);
    await golden.says(["status"]);
    await golden.says(["why", "two", "--json"]);
    await golden.says(["cancel"]);
    await golden.events();
  },

  async "an interrupted run"(golden) {
    golden.plan(`name: plan
tasks:
  one: { run: 'while [ ! -f go ]; do sleep 0.02; done', estimate: 3m }
  two: { run: 'true', needs: [one], estimate: 1m }
`);
    const running = golden.start("run", "plan.yaml", "--json");
    await golden.waitFor("one", "running");
    await golden.says(["status"]);
    await golden.says(["why", "one"]);
    running.child.kill("SIGINT");
    await until("it waits for what runs", () => running.err().includes("Ctrl-C again stops them"));
    running.child.kill("SIGINT");
    golden.keep("rota run plan.yaml --json, interrupted", await running.ended);
    await golden.says(["status", "--json"]);
    golden.place.file("go", "");
    await golden.says(["run", "plan.yaml", "--resume", "--json"]);
    await golden.events();
  },

  async "a killed scheduler"(golden) {
    golden.plan(`name: plan
tasks:
  one: { run: 'true', estimate: 3m }
  two: { run: 'while [ ! -f go ]; do sleep 0.02; done; echo went', needs: [one], estimate: 1m }
`);
    const running = golden.start("run", "plan.yaml", "--json");
    await golden.waitFor("two", "running");
    running.child.kill("SIGKILL");
    golden.keep("rota run plan.yaml --json, killed", await running.ended);
    await golden.says(["status"]);
    await golden.says(["why", "two", "--json"]);
    const again = golden.start("run", "plan.yaml", "--resume", "--json");
    await until("the run is taken up", async () => (await golden.ask("events")).out.includes("taken up again"));
    golden.place.file("go", "");
    golden.keep("rota run plan.yaml --resume --json", await again.ended);
    await golden.says(["logs", "two"]);
    await golden.events();
  },

  async parked(golden) {
    golden.plan(`name: plan
tasks:
  deadly: { pool: doomed, prompt: Write it, estimate: 2m }
  locked: { pool: writers, prompt: Read it, estimate: 1m }
  after: { pool: writers, prompt: Sum it up, needs: [deadly], estimate: 1m }
`);
    await golden.serve();
    await golden.ask("submit", "plan.yaml");
    for (const id of ["d1", "d2", "d3"]) {
      await golden.ask("session", "join", "--pool", "doomed", "--id", id, "--ttl", "1s");
      await golden.ask("claim", "deadly", "--session", id);
      await golden.waitFor("deadly", id === "d3" ? "parked" : "ready");
      await until(`${id} is gone`, async () => !(await golden.ask("workers")).out.includes(id));
    }
    await golden.ask("session", "join", "--pool", "writers", "--id", "s1", "--ttl", "15m");
    await golden.says(["claim", "locked", "--session", "s1"]);
    await golden.says(["fail", "locked", "--kind", "auth", "--message", "not logged in"]);
    for (const task of ["deadly", "locked", "after"]) {
      await golden.says(["why", task]);
      await golden.says(["why", task, "--json"]);
    }
    await golden.says(["status"]);
    await golden.says(["requeue", "locked", "--why", "logged in"]);
    await golden.says(["requeue", "locked"]);
    await golden.events("--run", "last");
  },

  async "sessions at work"(golden) {
    golden.plan(`name: plan
tasks:
  write: { pool: writers, prompt: Write it, estimate: 4m }
  check: { pool: writers, prompt: Check it, needs: [write], retry: { attempts: 2, backoff: 1ms }, estimate: 3m }
  print: { pool: writers, run: 'make print', needs: [check], estimate: 2m }
  here: { run: 'true', needs: [print], estimate: 1m }
`);
    await golden.serve();
    await golden.says(["claim", "--session", "s1"]);
    await golden.says(["session", "join", "--pool", "writers", "--id", "s1", "--ttl", "15m"]);
    await golden.says([
      "session",
      "join",
      "--pool",
      "writers",
      "--id",
      "s2",
      "--ttl",
      "15m",
      "--agent",
      "claude",
      "--json",
    ]);
    await golden.says(["claim", "--session", "s1"]);
    await golden.says(["submit", "plan.yaml", "--key", "k1"]);
    await golden.says(["submit", "plan.yaml", "--key", "k1", "--json"]);
    await golden.says(["claim", "--session", "s1", "--key", "c1"]);
    await golden.says(["claim", "write", "--session", "s2"]);
    await golden.says(["start", "write"]);
    await golden.says(["heartbeat", "write", "--json"]);
    await golden.says(["progress", "write", "Read half of it"]);
    await golden.says(["why", "write", "--json"]);
    await golden.says(["workers"]);
    await golden.says(["workers", "--json"]);
    await golden.says(["complete", "write", "--summary", "Two findings"]);
    await golden.says(["complete", "write"]);
    await golden.says(["claim", "check", "--session", "s2", "--json"], { only: withoutToken });
    await golden.says(["fail", "check", "--message", "does not pass", "--code", "7", "--json"]);
    await golden.waitFor("check", "ready");
    await golden.says(["claim", "check", "--session", "s2", "--env"]);
    await golden.says(["release", "check", "--why", "not mine"]);
    await golden.says(["claim", "check", "--session", "s1", "--priority", "critical"]);
    await golden.says(["claim", "check", "--session", "s1"]);
    await golden.says(["complete", "check"]);
    await golden.says(["claim", "print", "--session", "s1"]);
    await golden.says(["cancel", "print"]);
    await golden.says(["heartbeat", "print"]);
    await golden.says(["fail", "print", "--kind", "cancelled"]);
    await golden.says(["session", "beat", "s1", "--is", "prompting"]);
    await golden.says(["session", "leave", "s2"]);
    await golden.says(["workers", "--json"]);
    await golden.waitFor("here", "skipped");
    await golden.says(["status"]);
    await golden.events();
  },

  async "a pool that assigns"(golden) {
    golden.place.file("rota.config.yaml", "pools: { pushed: { mode: push } }\nackTimeout: 10m\n");
    golden.plan(`name: plan
tasks:
  one: { pool: pushed, prompt: Do this, estimate: 2m }
  two: { pool: pushed, prompt: Do that, needs: [one], estimate: 1m }
`);
    await golden.serve();
    await golden.says(["session", "join", "--pool", "pushed", "--id", "s1", "--ttl", "15m"]);
    await golden.says(["claim", "--session", "s1", "--assigned"]);
    await golden.says(["submit", "plan.yaml"]);
    await golden.says(["claim", "--session", "s1"]);
    await golden.says(["claim", "--session", "s1", "--assigned", "--wait", "1m"]);
    await golden.says(["why", "one"]);
    await golden.says(["start", "one"]);
    await golden.says(["why", "one", "--json"]);
    await golden.says(["complete", "one"]);
    await golden.says(["claim", "--session", "s1", "--assigned", "--wait", "1m", "--json"], { only: withoutToken });
    await golden.says(["release", "two", "--why", "no"]);
    await golden.says(["session", "leave", "s1"]);
    await golden.says(["why", "two"]);
  },

  async "an offer"(golden) {
    golden.place.file("rota.config.yaml", "offerTtl: 10m\n");
    golden.plan("name: plan\ntasks:\n  one: { pool: writers, prompt: Do this, estimate: 2m }\n");
    await golden.serve();
    await golden.ask("session", "join", "--pool", "writers", "--id", "s1", "--ttl", "15m");
    await golden.ask("session", "join", "--pool", "writers", "--id", "s2", "--ttl", "15m");
    await golden.ask("session", "beat", "s2", "--is", "busy");
    const waiting = golden.start("session", "wait", "s1", "--wait", "2m");
    await golden.says(["submit", "plan.yaml"]);
    golden.keep("rota session wait s1", await waiting.ended);
    await golden.says(["why", "one"]);
    await golden.says(["why", "one", "--json"]);
    await golden.says(["claim", "one", "--session", "s2"]);
    await golden.says(["claim", "--session", "s1"]);
    await golden.says(["complete", "one"]);
    await golden.events();
  },

  async "on hold"(golden) {
    golden.plan(`name: plan
tasks:
  write: { pool: writers, prompt: Write it, estimate: 2m }
  check: { pool: writers, prompt: Check it, needs: [write], estimate: 1m }
`);
    await golden.serve();
    const run = (await golden.says(["submit", "plan.yaml"])).out.trim();
    await golden.ask("session", "join", "--pool", "writers", "--id", "s1", "--ttl", "15m");
    for (const scope of [["--pool", "writers"], ["--run", run], ["write"], []]) {
      await golden.says(["pause", ...scope, "--why", "release day"]);
      await golden.says(["why", "write"]);
      await golden.says(["status"]);
      await golden.says(["resume", ...scope, "--json"]);
    }
    await golden.says(["resume"]);
    await golden.ask("claim", "write", "--session", "s1");
    await golden.says(["pause", "--json"]);
    await golden.says(["workers", "--json"]);
    await golden.says(["status", "--json"]);
    await golden.says(["drain", "--wait", "10ms"]);
    await golden.says(["complete", "write"]);
    await golden.says(["drain", "--json"]);
    await golden.says(["why", "check", "--json"]);
    await golden.says(["resume"]);
    await golden.says(["edit", "check", "--set", "priority=critical", "--why", "soon"]);
    await golden.says(["edit", "check", "--set", "priorty=critical"]);
    await golden.says(["edit", "write", "--set", "priority=critical", "--json"]);
    await golden.says(["why", "check"]);
    await golden.events();
  },

  async "files that are taken"(golden) {
    golden.plan(`name: plan
tasks:
  first: { run: 'while [ ! -f go ]; do sleep 0.02; done', writes: [dist/], priority: critical, estimate: 3m }
  second: { run: 'true', writes: [dist/app.js], estimate: 2m }
  reader: { run: 'true', reads: ['dist/*.js'], estimate: 1m, after: [second] }
`);
    await golden.says(["check", "plan.yaml"]);
    await golden.says(["check", "plan.yaml", "--strict", "--json"]);
    const running = golden.start("run", "plan.yaml", "--json");
    await golden.waitFor("first", "running");
    await golden.says(["why", "second"]);
    await golden.says(["why", "second", "--json"]);
    await golden.says(["status"]);
    golden.place.file("go", "");
    golden.keep("rota run plan.yaml --json", await running.ended);
    await golden.events();
  },

  async "reasons to wait"(golden) {
    golden.plan(`name: plan
resources: { slots: 2, calls: 2/h }
tasks:
  called: { run: 'true', resources: { calls: 2 }, priority: high, estimate: 9m }
  fails: { run: 'exit 1', retry: { attempts: 2, backoff: 300m, max: 300m }, priority: high, estimate: 8m }
  runs: { run: [sleep, '600'], resources: { slots: 2 }, gate: Run?, estimate: 7m }
  no-room: { run: 'true', resources: { slots: 1 }, gate: Run?, estimate: 6m }
  no-worker: { run: 'true', gate: Run?, estimate: 5m }
  no-call: { run: 'true', resources: { calls: 1 }, after: [called], estimate: 4m }
  needs: { run: 'true', needs: [runs], estimate: 3m }
  gate: { run: 'true', gate: Really?, estimate: 2m }
  no-session: { pool: readers, prompt: Read it, requires: [magic], estimate: 1m }
  down: { pool: writers, prompt: Call it, provider: api, retry: { attempts: 9, backoff: 0s }, estimate: 1m }
  held: { pool: writers, prompt: Hold it, estimate: 1m }
`);
    await golden.serve("--workers", "1");
    await golden.ask("submit", "plan.yaml");
    await golden.waitFor("called", "succeeded");
    await until("it has failed once", async () =>
      (await golden.ask("events", "--task", "fails")).out.includes("tries again"),
    );
    for (const task of ["runs", "no-room", "no-worker"]) {
      await golden.ask("approve", task);
      if (task === "runs") await golden.waitFor("runs", "running");
    }
    await golden.ask("session", "join", "--pool", "writers", "--id", "s1", "--ttl", "15m");
    for (let failure = 1; failure <= 5; failure++) {
      await golden.ask("claim", "down", "--session", "s1");
      await golden.ask("fail", "down");
    }
    await golden.ask("pause", "held", "--why", "not yet");
    await golden.waitFor("no-worker", "ready");
    for (const task of ["no-room", "no-worker", "no-call", "needs", "gate", "no-session", "held"])
      await golden.says(["why", task]);
    for (const task of ["fails", "no-room", "no-worker", "no-call", "needs", "gate", "no-session", "down", "held"]) {
      await golden.says(["why", task, "--json"]);
    }
    await golden.says(["status"]);
    await golden.says(["status", "--json"]);
  },

  async "what a plan would take"(golden) {
    golden.plan(`name: plan
resources: { slots: 1 }
tasks:
  a: { run: 'true', estimate: 10s, resources: { slots: 1 } }
  b: { run: 'true', estimate: 20s, resources: { slots: 1 } }
  c: { run: 'true', needs: [a, b] }
  d: { run: 'true', estimate: 5s, priority: high }
`);
    golden.place.file("actual.json", '{"a": 15000}\n');
    for (const form of [
      [],
      ["--json"],
      ["--actual", "actual.json", "--json"],
      ["--what-if", "workers=1", "--what-if", "slots=2"],
    ]) {
      await golden.says(["simulate", "plan.yaml", ...form], { exact: true });
    }
    await golden.says(["simulate", "plan.yaml", "--svg"], { exact: true, only: wordsOf });
    golden.plan(
      "tasks:\n  a: { pool: writers, prompt: Go, estimate: 4s }\n  b: { pool: writers, prompt: Go, estimate: 4s }\n",
    );
    await golden.says(["simulate", "plan.yaml", "--what-if", "pool.writers=2"], { exact: true });
    await golden.says(["simulate", "plan.yaml", "--pool", "writers=2", "--json"], { exact: true });
    await golden.says(["simulate", "plan.yaml", "--pool", "writers=0"], { exact: true });
    await golden.says(["simulate", "plan.yaml", "--pool", "writer=2"], { exact: true });
  },

  async "plans that are wrong"(golden) {
    for (const [name, text] of Object.entries(WRONG)) {
      golden.plan(text, name);
      await golden.says(["check", name, "--json"], { exact: true });
    }
    await golden.says(["check", "types.yaml"], { exact: true });
    await golden.says(["check", "cycle.yaml"], { exact: true });
    await golden.says(["run", "need-unknown.yaml"], { exact: true });
    await golden.says(["simulate", "cycle.yaml", "--json"], { exact: true });
  },

  async "wrong usage"(golden) {
    golden.plan("name: plan\ntasks:\n  a: { run: 'true' }\n");
    for (const line of WRONG_USAGE) await golden.says(line.split(" "), { exact: true });
    await golden.ask("run", "plan.yaml");
    for (const line of ["status x", "why b", "logs a --attempt 2", "cancel a", "approve a", "requeue a", "retry"]) {
      await golden.says(line.split(" "));
    }
  },
};

const WRONG: Readonly<Record<string, string>> = {
  "cycle.yaml": "tasks:\n  a: { run: x, needs: [b] }\n  b: { run: x, needs: [a] }\n",
  "need-unknown.yaml": "tasks:\n  build: { run: x }\n  ship: { run: x, needs: [biuld] }\n",
  "need-self.yaml": "tasks:\n  a: { run: x, needs: [a] }\n",
  "key-unknown.yaml": "tasks:\n  a: { run: x, need: [b] }\n  b: { run: x }\n",
  "empty.yaml": "name: nothing\ntasks: {}\n",
  "syntax.yaml": "tasks:\n  a: { run: x\n",
  "types.yaml": "tasks:\n  a: { run: 5, priority: urgent, estimate: soon, retry: { attempts: 0 } }\n",
  "id.yaml": "tasks:\n  -a: { run: x }\n",
  "duplicate.yaml": "tasks:\n  a: { run: x }\n  a: { run: y }\n",
  "impossible.yaml": "resources: { slots: 1 }\ntasks:\n  a: { run: x, resources: { slots: 2 } }\n",
  "variable.yaml": "tasks:\n  a: { run: 'deploy --token $TOKEN' }\n",
  "hazard.yaml": "tasks:\n  a: { run: x, writes: [out/] }\n  b: { run: x, reads: [out/b] }\n",
  "unsupported.yaml": "tasks:\n  a: { run: x, cache: true }\n",
  "missing.yaml": "tasks:\n  a: { title: nothing to do }\n",
  "plan.json": '{"tasks":{"a":{"run":"x","needs":["c"]}}}',
};

const WRONG_USAGE: readonly string[] = [
  "",
  "rnu plan.yaml",
  "run",
  "run plan.yaml extra",
  "run none.yaml",
  "run plan.yaml --worker 2",
  "run plan.yaml --workers none",
  "run plan.yaml --state",
  "timeline --svg --html",
  "session",
  "session jion",
  "claim",
  "complete a",
  "fail a --kind odd",
  "status",
  "why",
  "submit plan.yaml",
  "session beat s1 --is sleepy",
  "heartbeat a --every soon",
  "init plan.yaml",
];

const withoutTools = (out: string): string =>
  out.replace(/^· {2}(?:git|tmux) .*\n/gm, "").replace(/,\{"check":"(?:git|tmux)"[^}]*\}/g, "");
const withoutToken = (out: string): string => out.replace(/("token":)"[^"]*"/, '$1"<token>"');

test.concurrent.each(Object.entries(STORIES))("%s", async (name, story) => {
  await using golden = new Golden(name.replaceAll(" ", "-"));
  await story(golden);
  const { kept, now } = golden.compare();
  expect(now).toEqual(kept);
});
