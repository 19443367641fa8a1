import { describe, expect, test } from "vitest";
import { logOf, releaseDispatcher, releaseFixture } from "../../../test/rig/release.ts";
import { RunFixture } from "../../../test/rig/run-fixture.ts";
import { Dispatcher } from "../../decide/dispatcher.ts";
import { waitsOf } from "../../decide/explain/explain.ts";
import { taskNo } from "../../domain/graph.ts";
import { runNo } from "../../domain/run.ts";
import type { Pause } from "../../domain/waiting/pause.ts";
import type { Theme } from "../text/line.ts";
import { runsJson, runsText } from "./runs.ts";
import { type StatusView, statusJson, statusOf } from "./status.ts";
import { statusText } from "./status-text.ts";

const PLAIN: Theme = { color: false, unicode: true, timeZone: "UTC" };
const OWNER = { pid: 4711, host: "laptop", command: "rota run release.yaml", workers: 4 };

function statusFor(fixture: RunFixture, more: Partial<Parameters<typeof statusOf>[0]> = { owner: OWNER }): StatusView {
  const dispatcher = releaseDispatcher(fixture);
  const resources = [...dispatcher.resources()].map(({ name, ...rest }) => ({
    name: name.replace(/^\d+:/, ""),
    ...rest,
  }));
  const waitOf = waitsOf(dispatcher, fixture.run, fixture.now);
  return statusOf({ run: fixture.run, now: fixture.now, waitOf, resources, logOf, newest: true, ...more });
}
const show = (lines: readonly string[]): string => `\n${lines.join("\n")}\n`;

describe("status", () => {
  test("shows a run on one screen of 80 columns", () => {
    expect(show(statusText(statusFor(releaseFixture()), { columns: 80 }, PLAIN))).toMatchInlineSnapshot(`
      "
      ● release  running for 26s · 4 workers · pid 4711 on laptop  release-7f3a2c

        ━━━━╳╳╳╳╌╌╌╌╍╍╍╍╍╍╍╍╍╍╍╍╍╍╍───────────────────────────────── 3/16 19%
        1 done · 1 failed · 4 running · 5 ready · 4 blocked · 1 skipped

      Running
        ● build-api  14s  local/1
        ● build-web  14s  local/2
        ● train      13s  local/3
        ● 日本語      4s  local/4  starting

      Waiting
        for approval     1  announce                        needs approval: Tell the …
        impossible here  1  bench                      26s  no worker has cuda, asks …
        backing off      1  flaky                      13s  tries again in 7s
        for files        1  docs  Render the handbook  14s  dist/ is in use by build-…
        for resources    1  review                     26s  claude: asks 2, 1 free
        for a worker     1  slow                       26s  all 4 workers busy
        for other tasks  3  test-api                        needs build-api
                            e2e                             needs test-api, build-web
                            publish                         needs e2e

      Failed
        ✖ broken  exit code 2 after 8s, 1 skipped

      Queue      4 normal · 1 low
      Resources  cpu 0 of 8 · gpu 0 of 1 · claude 2 of 3

      Next
        rota logs broken       what it said
        rota approve announce  open its gate
      "
    `);
  });

  test("uses more room where there is more", () => {
    const lines = statusText(statusFor(releaseFixture()), { columns: 140 }, PLAIN);
    expect(lines.filter((line) => /broken|bench/.test(line))).toMatchInlineSnapshot(`
      [
        "  impossible here  1  bench                      26s  no worker has cuda, asks for 2 gpu but there is only 1",
        "  ✖ broken  exit code 2 after 8s, 1 skipped  .rota/runs/release-7f3a2c/broken/1/log",
        "  rota logs broken       what it said",
      ]
    `);
  });

  test("says how to go on with a run without a scheduler", () => {
    const fixture = new RunFixture({ a: {}, b: { needs: ["a"] } }, { file: "/home/ada/my plans/a.yaml" });
    const workerless = new Dispatcher({ workers: [], capacity: {}, capabilities: [] });
    workerless.admit(fixture.run);
    const view = statusFor(fixture.pass(90), { waitOf: waitsOf(workerless, fixture.run, fixture.now), resources: [] });
    expect(show(statusText(view, { columns: 80 }, PLAIN))).toMatchInlineSnapshot(`
      "
      ‖ release  interrupted · begun 1m30s ago  release-7f3a2c

        ──────────────────────────────────────────────────────────── 0/2 0%
        1 ready · 1 blocked

      Waiting
        for a worker     1  a  1m30s  no scheduler is running
        for other tasks  1  b         needs a

      Queue  1 normal

      Next
        rota run '/home/ada/my plans/a.yaml' --resume  go on with it
      "
    `);
  });

  test("names the run in its commands when it is not the newest", () => {
    const lines = statusText(statusFor(releaseFixture(), { newest: false }), { columns: 100 }, PLAIN);
    expect(lines.filter((line) => line.includes("rota "))).toMatchInlineSnapshot(`
      [
        "  rota logs broken --run release-7f3a2c         what it said",
        "  rota approve announce --run release-7f3a2c    open its gate",
        "  rota run /home/ada/app/release.yaml --resume  go on with it",
      ]
    `);
  });

  test("of a finished run shows how it came out", () => {
    const fixture = new RunFixture({ a: {}, b: {}, c: { needs: ["b"] } });
    fixture.start("a").pass(2).succeed("a").start("b").pass(3).fail("b", 7).skip("c", "b");
    fixture.ofRun({ kind: "run_finished", outcome: "failed" }).pass(60);
    expect(show(statusText(statusFor(fixture, {}), { columns: 80 }, PLAIN))).toMatchInlineSnapshot(`
      "
      ✖ release  failed after 5s  release-7f3a2c

        ━━━━━━━━━━━━━━━━━━━━╳╳╳╳╳╳╳╳╳╳╳╳╳╳╳╳╳╳╳╳╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌ 3/3 100%
        1 done · 1 failed · 1 skipped

      Failed
        ✖ b  exit code 7 after 3s, 1 skipped  .rota/runs/release-7f3a2c/b/1/log

      Ended
        ✔ a  2s
        ⊘ c  skipped

      Next
        rota logs b  what it said
        rota retry   run again what did not succeed
      "
    `);
  });

  test("cuts long lists, and keeps them whole for programs", () => {
    const ids = Array.from({ length: 10_000 }, (_, at) => `task-${at}`);
    const fixture = new RunFixture(Object.fromEntries(ids.map((id) => [id, {}])));
    for (const id of ids.slice(0, 40)) fixture.start(id).fail(id);
    const view = statusFor(fixture, {});
    expect(statusText(view, { columns: 80 }, PLAIN).length).toBeLessThan(30);
    const json = statusJson(view);
    expect([json.failed.length, json.waiting[0]?.tasks.length]).toEqual([40, 9_960]);
  });

  test("shows what is on hold as far as it holds this run back, and who could come for work", () => {
    const fixture = new RunFixture({ review: { pool: "writers" }, build: {} });
    const { run, now } = fixture;
    const asked = { asked: { by: "mo", why: "release day" }, at: now };
    const pauses: readonly Pause[] = [
      { scope: { of: "pool", pool: "writers" }, ...asked },
      { scope: { of: "pool", pool: "others" }, ...asked },
      { scope: { of: "task", run: run.no, task: taskNo(1) }, asked: { by: "ada" }, at: now },
      { scope: { of: "run", run: runNo(99) }, ...asked },
    ];
    const sessions = [
      { session: "s1", pool: "writers", state: "idle" },
      { session: "s2", pool: "writers", state: "busy" },
      { session: "s3", pool: "writers", state: "idle" },
      { session: "r1", pool: "reviewers", state: "prompting" },
    ] as const;
    const view = statusFor(fixture.pass(90), {
      owner: OWNER,
      waitOf: () => undefined,
      resources: [],
      pauses,
      sessions,
    });
    expect(show(statusText(view, { columns: 80 }, PLAIN))).toMatchInlineSnapshot(`
      "
      ● release  running for 1m30s · 4 workers · pid 4711 on laptop  release-7f3a2c

        ──────────────────────────────────────────────────────────── 0/2 0%
        2 ready

      On hold
        ‖ pool writers                  asked by mo: release day  1m30s ago
        ‖ task build of release-7f3a2c  asked by ada              1m30s ago

      Queue     2 normal
      Sessions  writers 2 idle, 1 busy · reviewers 1 prompting

      Next
        rota resume --pool writers  let it go on
      "
    `);
    expect(statusJson(view)).toMatchObject({
      paused: [
        { of: "pool", pool: "writers", by: "mo", why: "release day" },
        { of: "task", task: "build", by: "ada" },
      ],
      sessions,
    });
  });

  test("as JSON", () => {
    const json = Object.entries(statusJson(statusFor(releaseFixture())));
    expect(`\n${json.map(([key, value]) => `${key}: ${JSON.stringify(value)}`).join("\n")}\n`).toMatchInlineSnapshot(`
      "
      run: "release-7f3a2c"
      name: "release"
      file: "/home/ada/app/release.yaml"
      state: "running"
      at: "2026-03-14T12:00:26.000Z"
      submitted_at: "2026-03-14T12:00:00.000Z"
      ended_at: null
      owner: {"pid":4711,"host":"laptop","command":"rota run release.yaml","workers":4}
      tasks: {"total":16,"blocked":4,"ready":5,"claimed":1,"running":3,"verifying":0,"succeeded":1,"failed":1,"cancelled":0,"skipped":1,"parked":0}
      running: [{"task":"build-api","attempt":1,"worker":"local/1","state":"running","since":"2026-03-14T12:00:12.000Z","age_ms":14000,"deadline":"2026-03-14T12:00:42.000Z"},{"task":"build-web","attempt":1,"worker":"local/2","state":"running","since":"2026-03-14T12:00:12.000Z","age_ms":14000,"deadline":"2026-03-14T12:00:42.000Z"},{"task":"train","attempt":1,"worker":"local/3","state":"running","since":"2026-03-14T12:00:13.000Z","age_ms":13000,"deadline":"2026-03-14T12:00:43.000Z"},{"task":"日本語","attempt":1,"worker":"local/4","state":"claimed","since":"2026-03-14T12:00:22.000Z","age_ms":4000,"deadline":"2026-03-14T12:00:52.000Z"}]
      waiting: [{"reason":"gate","count":1,"tasks":[{"task":"announce","wait":{"reason":"gate","prompt":"Tell the world?"}}]},{"reason":"no-match","count":1,"tasks":[{"task":"bench","since":"2026-03-14T12:00:00.000Z","age_ms":26000,"wait":{"reason":"no-match","missing":["cuda"],"too_much":[{"name":"gpu","scope":"machine","asked":2,"capacity":1}]}}]},{"reason":"backing-off","count":1,"tasks":[{"task":"flaky","since":"2026-03-14T12:00:13.000Z","age_ms":13000,"wait":{"reason":"backing-off","until":"2026-03-14T12:00:33.000Z"}}]},{"reason":"hazard","count":1,"tasks":[{"task":"docs","title":"Render the handbook","since":"2026-03-14T12:00:12.000Z","age_ms":14000,"wait":{"reason":"hazard","kind":"read-write","path":"dist/","holder":{"task":"build-api","state":"running","worker":"local/1","since":"2026-03-14T12:00:12.000Z"}}}]},{"reason":"resources","count":1,"tasks":[{"task":"review","since":"2026-03-14T12:00:00.000Z","age_ms":26000,"wait":{"reason":"resources","short":[{"name":"claude","scope":"plan","asked":2,"free":1,"capacity":3,"holders":[{"task":"train","state":"running","worker":"local/3","since":"2026-03-14T12:00:13.000Z","amount":2}],"holders_total":1}]}}]},{"reason":"capacity","count":1,"tasks":[{"task":"slow","since":"2026-03-14T12:00:00.000Z","age_ms":26000,"wait":{"reason":"capacity","workers":4,"idle":0}}]},{"reason":"needs","count":3,"tasks":[{"task":"test-api","wait":{"reason":"needs","blockers":[{"task":"build-api","state":"running","worker":"local/1","since":"2026-03-14T12:00:12.000Z"}],"blockers_total":1}},{"task":"e2e","wait":{"reason":"needs","blockers":[{"task":"test-api","state":"blocked"},{"task":"build-web","state":"running","worker":"local/2","since":"2026-03-14T12:00:12.000Z"}],"blockers_total":2}},{"task":"publish","wait":{"reason":"needs","blockers":[{"task":"e2e","state":"blocked"}],"blockers_total":1}}]}]
      failed: [{"task":"broken","reason":"abandoned","log":".rota/runs/release-7f3a2c/broken/1/log","skipped":1,"at":"2026-03-14T12:00:08.000Z","attempts":1,"outcome":{"kind":"exit","message":"exit code 2","code":2,"duration_ms":8000}}]
      queue: {"critical":0,"high":0,"normal":4,"low":1}
      resources: [{"name":"cpu","capacity":8000,"used":0},{"name":"gpu","capacity":1,"used":0},{"name":"claude","capacity":3,"used":2}]
      paused: []
      sessions: []
      "
    `);
  });
});

test("the list of runs has the newest first, and says which were cut short", () => {
  const { manifest } = releaseFixture().run;
  const now = releaseFixture().now;
  const runs = [
    { manifest, tasks: 12_345, status: { state: "finished", at: now, outcome: "succeeded" }, cancelling: false },
    { manifest, tasks: 1, status: { state: "stalled", at: now, outcome: "deadlock" }, cancelling: false },
    { manifest, tasks: 4, status: { state: "active" }, cancelling: false },
  ] as const;
  expect(show(runsText({ runs, owned: false, now }, { columns: 80 }, PLAIN))).toMatchInlineSnapshot(`
    "
    ‖ release-7f3a2c  interrupted       4 tasks  26s  26s ago
    ‖ release-7f3a2c  stalled            1 task  26s  26s ago
    ✔ release-7f3a2c  succeeded    12,345 tasks  26s  26s ago
    "
  `);
  expect(runsJson({ runs: runs.slice(0, 1), owned: false, now })).toMatchInlineSnapshot(`
    {
      "runs": [
        {
          "ended_at": "2026-03-14T12:00:26.000Z",
          "file": "/home/ada/app/release.yaml",
          "name": "release",
          "run": "release-7f3a2c",
          "state": "succeeded",
          "submitted_at": "2026-03-14T12:00:00.000Z",
          "tasks": 12345,
        },
      ],
    }
  `);
});
