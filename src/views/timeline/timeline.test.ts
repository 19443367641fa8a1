import { createHash } from "node:crypto";
import { Script } from "node:vm";
import { describe, expect, test } from "vitest";
import { NOON, RunFixture } from "../../../test/rig/run-fixture.ts";
import { taskId, workerId } from "../../domain/ids.ts";
import { millis } from "../../domain/time.ts";
import type { Theme } from "../text/line.ts";
import { displayWidth } from "../text/text.ts";
import { marks } from "./axis.ts";
import { layOut } from "./gantt.ts";
import { type Timeline, type TimelineAttempt, timelineJson, timelineOf } from "./timeline.ts";
import { timelineHtml } from "./timeline-html.ts";
import { timelineSvg } from "./timeline-svg.ts";
import { timelineText } from "./timeline-text.ts";

const PLAIN: Theme = { color: false, unicode: true, timeZone: "UTC" };

function release(): RunFixture {
  return new RunFixture({
    fetch: {},
    lint: {},
    build: { needs: ["fetch"] },
    test: { needs: ["build"] },
    ship: { needs: ["test"] },
  })
    .start("fetch", "local/1")
    .start("lint", "local/2")
    .pass(8)
    .succeed("lint")
    .pass(4)
    .succeed("fetch")
    .start("build", "local/1")
    .pass(9)
    .retry("build", 3, 75)
    .pass(3)
    .start("build", "local/2")
    .pass(30)
    .succeed("build")
    .start("test", "local/10")
    .pass(22)
    .fail("test", 2)
    .skip("ship", "test")
    .ofRun({ kind: "run_finished", outcome: "failed" });
}
const timelineFor = (fixture: RunFixture): Timeline => timelineOf(fixture.run, fixture.events, fixture.now);

/** A timeline of this many tasks on four workers, each a hundredth of a second long. */
function crowd(size: number): Timeline {
  const ids = Array.from({ length: size }, (_, at) => `t${at}`);
  const fixture = new RunFixture(
    Object.fromEntries(ids.map((id, at) => [id, at < 4 ? {} : { needs: [`t${at - 4}`] }])),
  );
  for (let at = 0; at < size; at += 4) {
    const batch = ids.slice(at, at + 4);
    batch.forEach((id, worker) => void fixture.start(id, `local/${worker + 1}`));
    fixture.pass(0.01);
    for (const id of batch) fixture.succeed(id);
  }
  return timelineFor(fixture.ofRun({ kind: "run_finished", outcome: "succeeded" }));
}

describe("the model", () => {
  test("has every attempt with its times, its end, and whether the run hung on it", () => {
    expect(timelineJson(timelineFor(release()))).toMatchInlineSnapshot(`
      {
        "attempts": [
          {
            "attempt": 1,
            "claimed_at": "2026-03-14T12:00:00.000Z",
            "critical": true,
            "end": "succeeded",
            "ended_at": "2026-03-14T12:00:12.000Z",
            "outcome": "succeeded",
            "started_at": "2026-03-14T12:00:00.000Z",
            "task": "fetch",
            "worker": "local/1",
          },
          {
            "attempt": 1,
            "claimed_at": "2026-03-14T12:00:00.000Z",
            "critical": false,
            "end": "succeeded",
            "ended_at": "2026-03-14T12:00:08.000Z",
            "outcome": "succeeded",
            "started_at": "2026-03-14T12:00:00.000Z",
            "task": "lint",
            "worker": "local/2",
          },
          {
            "attempt": 1,
            "claimed_at": "2026-03-14T12:00:12.000Z",
            "critical": true,
            "end": "retried",
            "ended_at": "2026-03-14T12:00:21.000Z",
            "outcome": "exit code 75",
            "started_at": "2026-03-14T12:00:12.000Z",
            "task": "build",
            "worker": "local/1",
          },
          {
            "attempt": 2,
            "claimed_at": "2026-03-14T12:00:24.000Z",
            "critical": true,
            "end": "succeeded",
            "ended_at": "2026-03-14T12:00:54.000Z",
            "outcome": "succeeded",
            "started_at": "2026-03-14T12:00:24.000Z",
            "task": "build",
            "worker": "local/2",
          },
          {
            "attempt": 1,
            "claimed_at": "2026-03-14T12:00:54.000Z",
            "critical": true,
            "end": "failed",
            "ended_at": "2026-03-14T12:01:16.000Z",
            "outcome": "exit code 2",
            "started_at": "2026-03-14T12:00:54.000Z",
            "task": "test",
            "worker": "local/10",
          },
        ],
        "critical_path": [
          "fetch",
          "build",
          "test",
        ],
        "from": "2026-03-14T12:00:00.000Z",
        "name": "release",
        "run": "release-7f3a2c",
        "state": "failed",
        "tasks": 5,
        "to": "2026-03-14T12:01:16.000Z",
        "workers": [
          "local/1",
          "local/2",
          "local/10",
        ],
      }
    `);
  });

  test("knows every way an attempt can end, and those that have not", () => {
    const fixture = new RunFixture({ a: {}, b: {}, c: {}, d: {}, e: {} });
    for (const id of ["a", "b", "c", "d", "e"]) fixture.claim(id);
    fixture.of("a", { kind: "released", why: "restart" }).of("b", { kind: "parked", reason: "attention" });
    fixture.of("c", { kind: "cancelled", asked: { by: "ada" } });
    fixture
      .of("d", { kind: "expired", worker: "local/1" as never, notBefore: fixture.now })
      .of("d", { kind: "parked", reason: "poison" });
    const { attempts, state, criticalPath } = timelineFor(fixture);
    expect(attempts.map(({ end }) => end)).toEqual(["released", "parked", "cancelled", "lost", "running"]);
    expect([state, criticalPath]).toEqual(["running", []]);
  });
});

test("an interrupted run ends with the last thing that is known of it", () => {
  const fixture = new RunFixture({ a: {} })
    .start("a")
    .pass(3)
    .of("a", { kind: "silent", forMs: millis(3_000) })
    .pass(600);
  const { state, from, to } = timelineOf(fixture.run, fixture.events, undefined);
  expect({ state, ms: to - from }).toEqual({ state: "interrupted", ms: 3_000 });
});

describe("an attempt takes as long as was measured", () => {
  const success = (ms: number) =>
    ({ kind: "succeeded", outcome: { kind: "success", durationMs: millis(ms) } }) as const;
  const timesOf = (fixture: RunFixture): readonly number[] =>
    timelineFor(fixture).attempts.flatMap(({ startedAt = 0, endedAt = 0 }) => [startedAt - NOON, endedAt - NOON]);

  test("also when its beginning was heard of together with its end", () => {
    const fixture = new RunFixture({ a: {} }).claim("a").pass(0.02).of("a", { kind: "started" }).of("a", success(3));
    expect(timesOf(fixture)).toEqual([17, 20]);
    expect(timelineText(timelineFor(fixture), { columns: 80 }, PLAIN)[2]).toMatch(/█ 3ms$/);
  });

  test("but it did not begin before it was claimed", () => {
    const fixture = new RunFixture({ a: {} }).pass(1).start("a").pass(0.02).of("a", success(40));
    expect(timesOf(fixture)).toEqual([1_000, 1_020]);
  });

  test("also when its end was heard of long afterwards", () => {
    const fixture = new RunFixture({ a: {} }).start("a").pass(3_600).of("a", success(5_000));
    expect(timesOf(fixture)).toEqual([0, 5_000]);
  });
});

describe("in a terminal", () => {
  test("every task has a bar", () => {
    expect(`\n${timelineText(timelineFor(release()), { columns: 80 }, PLAIN).join("\n")}\n`).toMatchInlineSnapshot(`
      "
      release  release-7f3a2c  failed · 1m16s · 5 tasks

        ✔ fetch █████████                                                   12s
        ✔ lint  ██████                                                      8s
        ✔ build          ▒▒▒▒▒▒▒   ███████████████████████                  39s ×2
        ✖ test                                            █████████████████ 22s
                ╵0s                    ╵30s                    ╵1m

        5 attempts of 5 tasks · 1m21s of work · 1.1 at a time
        Critical path: fetch → build → test
      "
    `);
  });

  test("many tasks are shown by worker, with the longest of them", () => {
    const lines = timelineText(crowd(10_000), { columns: 80 }, PLAIN);
    expect(lines.length).toBeLessThan(40);
    expect(`\n${lines.slice(0, 9).join("\n")}\n`).toMatchInlineSnapshot(`
      "
      release  release-7f3a2c  succeeded · 25s · 10,000 tasks

        local/1 █████████████████████████████████████████████████████ 100% · 2,500
        local/2 █████████████████████████████████████████████████████ 100% · 2,500
        local/3 █████████████████████████████████████████████████████ 100% · 2,500
        local/4 █████████████████████████████████████████████████████ 100% · 2,500
                ╵0s        ╵5s       ╵10s       ╵15s      ╵20s

      Longest on the critical path
      "
    `);
  });

  test("more workers and attempts than a call has arguments are no trouble", () => {
    const [attempt] = crowd(1).attempts as readonly [TimelineAttempt];
    const workers = Array.from({ length: 150_000 }, (_, at) => workerId(`session-${at}`));
    const attempts = workers.map((worker, at) => ({ ...attempt, task: taskId(`t${at}`), worker }));
    const timeline = { ...crowd(1), workers, attempts };
    expect(timelineText(timeline, { columns: 100 }, PLAIN).join("\n")).toContain("and 149,968 more workers");
    expect(timelineText(timeline, { columns: 100, tasksMax: 200_000 }, PLAIN).length).toBeGreaterThan(150_000);
    expect(timelineSvg(timeline)).toContain("session-149999");
  }, 60_000);

  test("a run in which nothing has started says so", () => {
    expect(timelineText(timelineFor(new RunFixture({ a: {} })), { columns: 80 }, PLAIN)).toContain(
      "  Nothing has started yet.",
    );
  });

  test.each([20, 40, 80, 200])("fits into %i columns", (columns) => {
    for (const timeline of [timelineFor(release()), crowd(1), crowd(500)]) {
      const widths = timelineText(timeline, { columns }, PLAIN).map(displayWidth);
      expect(Math.max(...widths)).toBeLessThanOrEqual(columns);
    }
  });
});

describe("as a picture", () => {
  test("has a bar for each attempt, the retry in its own pattern, the critical path in outline", () => {
    const svg = timelineSvg(timelineFor(release()));
    expect(svg.match(/<rect class="bar [^"]*" x="\d+(?:\.\d+)?" y="(?!60")/g)).toHaveLength(5);
    expect(svg).toContain(`<rect class="bar retried critical"`);
    expect(svg).toContain("<title>build, attempt 1: tried again (exit code 75) · 9s from 12s on · local/1</title>");
    expect(svg).toContain("prefers-color-scheme:dark");
  });

  test("workers stand in the order people count in", () => {
    expect(layOut(timelineFor(release()), 100).lanes.map(({ worker }) => worker)).toEqual([
      "local/1",
      "local/2",
      "local/10",
    ]);
  });

  test("a worker with two tasks at once has two rows", () => {
    const fixture = new RunFixture({ a: {}, b: {} }).start("a").pass(1).start("b").pass(1).succeed("a").succeed("b");
    expect(layOut(timelineFor(fixture), 100).lanes).toEqual([{ worker: "local/1", firstRow: 0, rows: 2, use: 1.5 }]);
  });

  test("ten thousand attempts are drawn together where they are too small to be seen", () => {
    const timeline = crowd(10_000);
    const { bars } = layOut(timeline, 1_000);
    expect(bars.reduce((sum, { count }) => sum + count, 0)).toBe(10_000);
    expect(bars.length).toBeLessThan(3_000);
    expect(timelineSvg(timeline).length).toBeLessThan(1_000_000);
  });

  test("no coordinate is ever anything but a number", () => {
    const empty = timelineFor(new RunFixture({ a: {} }));
    for (const timeline of [empty, timelineFor(new RunFixture({ a: {} }).start("a")), crowd(1)]) {
      expect(timelineSvg(timeline)).not.toMatch(/NaN|Infinity|undefined/);
    }
  });
});

describe("as a page", () => {
  test("forbids everything but its own style and its own script", () => {
    const html = timelineHtml(timelineFor(release()));
    const [, script = "", ...more] = html.split(/<\/?script>/);
    expect(more).toHaveLength(1);
    expect(() => new Script(script)).not.toThrow();
    const hash = createHash("sha256").update(script).digest("base64");
    expect(html).toContain(`default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-${hash}';`);
    expect(html).not.toMatch(/javascript:|\son\w+=|<img|<link|src=/i);
  });

  test("lists failures first, each row with its end to be filtered by, and titles", () => {
    const fixture = new RunFixture({ a: { title: "Build it" }, b: {}, c: {} }).start("a").start("b", "local/2").pass(1);
    const html = timelineHtml(timelineFor(fixture.succeed("a").fail("b").start("c")));
    const rows = [...html.matchAll(/<tr data-end="(\w+)"[^>]*><td>(.*?)<\/td>/g)].map(([, end, task]) => [end, task]);
    expect(rows).toEqual([
      ["failed", "b"],
      ["running", "c"],
      ["succeeded", "a <small>Build it</small>"],
    ]);
    expect(html).toContain('value="failed" checked> <span class="dot failed"></span>failed 1</label>');
  });

  test("lists at most ten thousand attempts, and says so", () => {
    const html = timelineHtml(crowd(10_400));
    expect(html.match(/<tr/g)).toHaveLength(10_001);
    expect(html).toContain("400 more attempts are not listed");
  });
});

test("marks stand at round times, and there are never too many", () => {
  expect(marks(millis(124_000), 10).map(({ label }) => label)).toEqual([
    "0s",
    "15s",
    "30s",
    "45s",
    "1m",
    "1m15s",
    "1m30s",
    "1m45s",
    "2m",
  ]);
  expect(marks(millis(7), 4).map(({ label }) => label)).toEqual(["0s", "2ms", "4ms", "6ms"]);
  expect(marks(millis(40 * 86_400_000), 5).map(({ label }) => label)).toEqual(["0s", "8d", "16d", "24d", "32d", "40d"]);
});
