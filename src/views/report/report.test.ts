import { describe, expect, test } from "vitest";
import { logOf, releaseDispatcher } from "../../../test/rig/release.ts";
import { RunFixture } from "../../../test/rig/run-fixture.ts";
import { blockers } from "../../decide/explain/explain.ts";
import { taskNo } from "../../domain/graph.ts";
import { later, millis, seconds } from "../../domain/time.ts";
import type { Theme } from "../text/line.ts";
import { RunProgress } from "../timeline/run-progress.ts";
import { type ReportInput, reportOf, summaryJson } from "./report.ts";
import { reportText } from "./report-text.ts";

const PLAIN: Theme = { color: false, unicode: true, timeZone: "UTC" };
const tailOf = (): readonly string[] => ["not ok 41 - renders header", "  expected: \u001b[31m<h1>\u001b[0m"];
const inputFor = ({ run, now, events }: RunFixture, more: Partial<ReportInput> = {}): ReportInput => ({
  run,
  now,
  progress: RunProgress.of(run, events, more.since),
  tailOf,
  logOf,
  blockers: [],
  ...more,
});
const report = (fixture: RunFixture, more?: Partial<ReportInput>): string =>
  `\n${reportText(reportOf(inputFor(fixture, more)), { columns: 80 }, PLAIN).join("\n")}\n`;

/** a, then b and c side by side, then d. */
function diamond(): RunFixture {
  return new RunFixture({ a: {}, b: { needs: ["a"] }, c: { needs: ["a"] }, d: { needs: ["b", "c"] } })
    .start("a")
    .pass(3)
    .succeed("a")
    .start("b")
    .start("c", "local/2")
    .pass(4)
    .succeed("b")
    .pass(1.5)
    .succeed("c");
}

describe("the report", () => {
  test("of a failure: with the title, and what the worker said in one line", () => {
    const fixture = new RunFixture({ a: { title: "Build the site" } }).start("a").pass(2);
    const outcome = { kind: "exit", code: 2, message: "broken:\n  two things\n", durationMs: seconds(2) } as const;
    fixture.of("a", { kind: "failed", outcome, reason: "abandoned" });
    const lines = report(fixture.ofRun({ kind: "run_finished", outcome: "failed" })).split("\n");
    expect(lines.slice(1, 3)).toEqual(["✖ a  exit code 2: broken: two things after 2s", "  Build the site"]);
  });

  test("of a success: how long, how much faster than one after the other, and what that hung on", () => {
    const fixture = diamond().start("d").pass(2).succeed("d").ofRun({ kind: "run_finished", outcome: "succeeded" });
    expect(report(fixture)).toMatchInlineSnapshot(`
      "
      ✔ release succeeded in 11s
        tasks          4 done
        work           15s, 1.4× as fast as one after the other
        slowest        c 5.5s · b 4s · a 3s
        critical path  a → c → d (100% of the time)
      "
    `);
    expect(summaryJson(inputFor(fixture))).toMatchInlineSnapshot(`
      {
        "attempts": 4,
        "duration_ms": 10500,
        "outcome": "succeeded",
        "run": "release-7f3a2c",
        "tasks": {
          "cancelled": 0,
          "failed": 0,
          "parked": 0,
          "skipped": 0,
          "succeeded": 4,
          "total": 4,
        },
      }
    `);
  });

  test("of a run that a daemon has: what to do, but not to go on with it by oneself", () => {
    const fixture = new RunFixture({ publish: { gate: "Ship it?" } }).ofRun({
      kind: "run_stalled",
      remaining: 1,
      outcome: "waiting",
    });
    const stuck = blockers(releaseDispatcher(fixture), fixture.run, fixture.now);
    const said = report(fixture, { blockers: stuck, served: true });
    expect(said).toContain("rota approve publish");
    expect(said).not.toContain("--resume");
  });

  test("of what could not be started: nothing of a log that is not there", () => {
    const fixture = new RunFixture({ a: {}, b: { pool: "agents" } }).start("a").start("b", "s1").pass(1);
    const outcome = { kind: "spawn", message: "No such file or directory", durationMs: millis(1) } as const;
    fixture.of("a", { kind: "failed", outcome, reason: "permanent" }).fail("b");
    fixture.ofRun({ kind: "run_finished", outcome: "failed" });
    const said = report(fixture, { tailOf: () => [] });
    expect(said).toContain("could not start: No such file or directory");
    expect(said).not.toMatch(/\.log|rota logs/);
  });

  test("of a run that was resumed: what was done since then", () => {
    const fixture = diamond();
    const since = later(fixture.now, seconds(-1));
    fixture.start("d").pass(2).succeed("d").ofRun({ kind: "run_finished", outcome: "succeeded" });
    expect(report(fixture, { since })).toMatchInlineSnapshot(`
      "
      ✔ release succeeded in 3s (since it was resumed)
        tasks          4 done
        work           3s
        slowest        c 5.5s · d 2s
        critical path  c → d (100% of the time)
      "
    `);
  });

  test("of a failure: what failed, what it said, whom it took along, what to do", () => {
    const fixture = diamond().start("d").pass(2).retry("d", 0, 3).start("d").pass(1).fail("d", 3);
    fixture.ofRun({ kind: "run_finished", outcome: "failed" });
    expect(report(fixture)).toMatchInlineSnapshot(`
      "
      ✖ d  exit code 3 after 1s, attempt 2
        │ not ok 41 - renders header
        │   expected: <h1>
        .rota/runs/release-7f3a2c/d/2/log

      ✖ release failed after 12s
        tasks          3 done · 1 failed · 5 attempts
        work           16s, 1.3× as fast as one after the other
        slowest        c 5.5s · b 4s · a 3s
        critical path  a → c → d (100% of the time)

      Next
        rota logs d  everything it said
        rota retry   run again what did not succeed
      "
    `);
  });

  test("of a run that waits for a person: who must do what, and how many wait behind it", () => {
    const fixture = new RunFixture({
      publish: { gate: "Ship it?" },
      announce: { needs: ["publish"] },
      tweet: { needs: ["announce"] },
      train: {},
      serve: { needs: ["train"] },
      bench: { requires: ["cuda"] },
    });
    fixture.start("train").pass(4).of("train", { kind: "parked", reason: "attention" });
    fixture.ofRun({ kind: "run_stalled", remaining: 6, outcome: "waiting" });
    const stuck = blockers(releaseDispatcher(fixture), fixture.run, fixture.now);
    expect(report(fixture, { blockers: stuck })).toMatchInlineSnapshot(`
      "
      ◌ publish  needs approval: Ship it?    behind it: announce, tweet
      ‖ train    its failure needs a person  behind it: serve
      ○ bench    no worker has cuda

      ‖ release waits for a person, after 4s
        tasks  1 parked · 1 ready · 4 blocked

      Next
        rota approve publish                          open its gate
        rota requeue train                            try it again, at no cost
        rota why bench                                what it asks for
        rota run /home/ada/app/release.yaml --resume  then go on
      "
    `);
    expect(summaryJson(inputFor(fixture, { blockers: stuck }))).toMatchInlineSnapshot(`
      {
        "attempts": 1,
        "blockers": [
          {
            "reason": "gate",
            "state": "blocked",
            "task": "publish",
          },
          {
            "on": "publish",
            "reason": "needs",
            "state": "blocked",
            "task": "announce",
          },
          {
            "on": "publish",
            "reason": "needs",
            "state": "blocked",
            "task": "tweet",
          },
          {
            "reason": "parked",
            "state": "parked",
            "task": "train",
          },
          {
            "on": "train",
            "reason": "needs",
            "state": "blocked",
            "task": "serve",
          },
          {
            "reason": "no-match",
            "state": "ready",
            "task": "bench",
          },
        ],
        "duration_ms": 4000,
        "outcome": "waiting",
        "run": "release-7f3a2c",
        "tasks": {
          "cancelled": 0,
          "failed": 0,
          "parked": 1,
          "skipped": 0,
          "succeeded": 0,
          "total": 6,
        },
      }
    `);
  });

  test("of an interruption: how to go on", () => {
    const fixture = diamond();
    expect(report(fixture, { interrupted: true })).toMatchInlineSnapshot(`
      "
      ‖ release was interrupted after 8.5s
        tasks    3 done · 1 ready
        work     13s, 1.5× as fast as one after the other
        slowest  c 5.5s · b 4s · a 3s

      Next
        rota run /home/ada/app/release.yaml --resume  go on with the run
      "
    `);
    expect(summaryJson(inputFor(fixture, { interrupted: true }))).toMatchObject({ outcome: "cancelled" });
  });

  test("counts what an earlier run had done, and only the time since it was taken up", () => {
    const fixture = new RunFixture({ a: {}, b: { needs: ["a"] } }, { carried: [taskNo(0)] }).pass(100);
    const since = fixture.now;
    fixture.start("b").pass(2).succeed("b").ofRun({ kind: "run_finished", outcome: "succeeded" });
    expect(report(fixture, { since })).toMatchInlineSnapshot(`
      "
      ✔ release succeeded in 2s (since it was resumed)
        tasks  2 done (1 by an earlier run)
      "
    `);
  });

  test("reads the logs of a few failures only, however many there are", () => {
    const ids = Array.from({ length: 300 }, (_, at) => `t${at}`);
    const fixture = new RunFixture(Object.fromEntries(ids.map((id) => [id, {}])));
    for (const id of ids) fixture.start(id).fail(id);
    let read = 0;
    const lines = reportText(reportOf(inputFor(fixture, { tailOf: () => [`${++read}`] })), { columns: 80 }, PLAIN);
    expect(read).toBe(5);
    expect(lines).toContain("✖ and 295 more failed");
  });
});
