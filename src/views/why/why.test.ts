import { describe, expect, test } from "vitest";
import { releaseDispatcher, releaseFixture } from "../../../test/rig/release.ts";
import type { RunFixture } from "../../../test/rig/run-fixture.ts";
import type { ExplainContext } from "../../decide/explain/eligible.ts";
import { explain } from "../../decide/explain/explain.ts";
import type { Explanation } from "../../domain/waiting/explanation.ts";
import type { Theme } from "../text/line.ts";
import { whyJson, whyText } from "./why.ts";

const PLAIN: Theme = { color: false, unicode: true, timeZone: "UTC" };
const leavesLog = (): boolean => true;
const explained = (id: string, context?: ExplainContext, fixture: RunFixture = releaseFixture()): Explanation =>
  explain(releaseDispatcher(fixture), fixture.run, fixture.task(id), fixture.now, context);
const why = (id: string, context?: ExplainContext): string =>
  `\n${whyText(explained(id, context), { columns: 80, newest: true, leavesLog }, PLAIN).join("\n")}\n`;

describe("why", () => {
  test("a task waits for others: which, what it hangs on, and until when", () => {
    expect(why("e2e")).toMatchInlineSnapshot(`
      "
      ◌ e2e waits for 2 tasks: test-api (blocked), build-web (running for 14s on
        local/2).

        ✖  needs    0 of 2 met
        ✖  workers  0 of 4 idle

        it hangs on  build-web (running for 14s), build-api (running for 14s)
        expected     in 58s (12:01:24), by the longest path before it
        rank         54s to the end of the plan
        estimate     12s (what tasks of this run took so far)

      Next
        rota logs build-web -f  watch what it hangs on
      "
    `);
  });

  test("a task waits for files: whose", () => {
    expect(why("docs")).toMatchInlineSnapshot(`
      "
      ○ docs waits for files: it would read dist/, which build-api (running for 14s on
        local/1) writes.
        Render the handbook

        ✔  needs    1 of 1 met
        ✖  files    another task is in the way of 1 read
        ✖  workers  0 of 4 idle

        expected  in 46s (12:01:12), by the estimate of what runs
        in line   1 of 3 ready at normal priority
        rank      27s to the end of the plan
        estimate  12s (what tasks of this run took so far)

      Next
        rota logs build-api -f  watch who holds the files
      "
    `);
  });

  test("a task waits for resources: how much of what, and who has it", () => {
    expect(why("review")).toMatchInlineSnapshot(`
      "
      ○ review waits for resources: it asks for 2 claude, 1 of 3 is free (train holds
        2 for 13s).

        ✖  claude   asks for 2, 1 of 3 free in this plan
        ✔  cpu      asks for 1, 8 of 8 free
        ✖  workers  0 of 4 idle

        expected  in 59m47s (13:00:13) at the latest, by the time-out of what runs
        in line   2 of 3 ready at normal priority
        rank      27s to the end of the plan
        estimate  12s (what tasks of this run took so far)

      Next
        rota logs train -f  watch who holds claude
      "
    `);
  });

  test("a task can never start here", () => {
    expect(why("bench")).toMatchInlineSnapshot(`
      "
      ○ bench can never start here: no worker has cuda, asks for 2 gpu but there is
        only 1.

        ✖  capabilities  no worker has cuda
        ✖  gpu           asks for 2, 1 of 1 free
        ✖  workers       0 of 4 idle

        rank      27s to the end of the plan
        estimate  12s (what tasks of this run took so far)

      Next
        rota doctor  what this machine has
      "
    `);
  });

  test("a task backs off", () => {
    const lastOutcome = { kind: "exit", code: 75, durationMs: 13_000 } as never;
    expect(why("flaky", { lastOutcome })).toMatchInlineSnapshot(`
      "
      ○ flaky backs off after its last attempt (exit code 75), and may go again in 7s.

        ✖  back-off  ends in 7s
        ✖  workers   0 of 4 idle

        expected  in 7s (12:00:33)
        rank      27s to the end of the plan
        estimate  12s (what tasks of this run took so far)
        failures  1 of 3 attempts used

      Next
        rota logs flaky  what the last attempt said
      "
    `);
  });

  test("a task waits for a worker", () => {
    expect(why("slow")).toMatchInlineSnapshot(`
      "
      ○ slow is ready, but all 4 workers are busy.

        ✖  workers  0 of 4 idle

        expected  in 8s (12:00:34), by the estimate of what runs
        in line   1 of 1 ready at low priority
        rank      27s to the end of the plan
        estimate  12s (what tasks of this run took so far)
      "
    `);
  });

  test("a task waits for a person", () => {
    expect(why("announce")).toMatchInlineSnapshot(`
      "
      ◌ announce waits for a person to approve it: Tell the world?

        ✖  approval  asked for: Tell the world?
        ✖  workers   0 of 4 idle

        rank      27s to the end of the plan
        estimate  12s (what tasks of this run took so far)

      Next
        rota approve announce  open the gate
      "
    `);
  });

  test("a task is paused", () => {
    expect(why("slow", { paused: { by: "ada", why: "demo at three" } }).split("\n")[1]).toBe(
      "○ slow is paused by ada: demo at three.",
    );
  });

  test("a task runs", () => {
    expect(why("build-api")).toMatchInlineSnapshot(`
      "
      ● build-api is running on local/1 for 14s, attempt 1.

        estimate  1m (from the plan)
        time-out  in 59m46s
        lease     ends in 16s unless renewed

      Next
        rota logs build-api -f  watch it
      "
    `);
  });

  test("a task is being cancelled: who asked for it, and why", () => {
    const asked = { by: "ada", why: "enough" };
    const fixture = releaseFixture().of("build-api", { kind: "stopping", reason: { kind: "cancelled", asked } });
    const [first] = whyText(
      explained("build-api", undefined, fixture),
      { columns: 200, newest: true, leavesLog },
      PLAIN,
    );
    expect(first).toContain("; it is being stopped (cancelled, asked by ada: enough).");
  });

  test("a task was cancelled: who asked for it, and why", () => {
    const explanation = { ...explained("fetch"), state: "cancelled", cancelled: { by: "ada", why: "enough" } } as const;
    const options = { columns: 80, newest: true, leavesLog };
    expect(whyText(explanation, options, PLAIN)).toEqual(["⊘ fetch was cancelled 14s ago, asked by ada: enough."]);
    expect(whyJson(explanation)).toMatchObject({ cancelled: { by: "ada", why: "enough" } });
  });

  test("a run that is not the newest is named the way each command takes it", () => {
    const explanation = { ...explained("broken"), wait: { reason: "backpressure" } as never };
    const asked = { ...explained("docs"), wait: { reason: "capacity", workers: 0, idle: 0 } } as const;
    const next = (of: Explanation): string =>
      whyText(of, { columns: 80, newest: false, leavesLog }, PLAIN).at(-1) as string;
    expect(next(asked)).toBe("  rota status release-7f3a2c  how to go on with the run");
    expect(next({ ...explanation, wait: undefined as never })).toContain("rota retry --run release-7f3a2c");
  });

  test("a log that is not there is not pointed at", () => {
    const next = (id: string): readonly string[] =>
      whyText(explained(id), { columns: 80, newest: true, leavesLog: () => false }, PLAIN).filter((line) =>
        line.startsWith("  rota "),
      );
    expect(next("broken")).toEqual(["  rota retry  run again what did not succeed"]);
    expect(next("after-broken")).toEqual(["  rota why broken  what happened there"]);
    expect(next("build-api")).toEqual([]);
  });

  test("a task has ended", () => {
    expect(["fetch", "broken", "after-broken"].map((id) => why(id))).toMatchInlineSnapshot(`
      [
        "
      ✔ fetch succeeded in 12s, 14s ago.
      ",
        "
      ✖ broken failed: exit code 2, after 1 attempt.

      Next
        rota logs broken  what it said
        rota retry        run again what did not succeed
      ",
        "
      ⊘ after-broken was skipped, because broken failed.

      Next
        rota logs broken  what went wrong there
      ",
      ]
    `);
  });

  test("a task is parked", () => {
    const fixture = releaseFixture().of("train", { kind: "parked", reason: "poison" }).pass(30);
    const lines = whyText(explained("train", {}, fixture), { columns: 80, newest: false, leavesLog }, PLAIN);
    expect(`\n${lines.join("\n")}\n`).toMatchInlineSnapshot(`
      "
      ‖ train was parked 30s ago: its workers died again and again.

        rank      27s to the end of the plan
        estimate  12s (what tasks of this run took so far)

      Next
        rota logs train --run release-7f3a2c     what the last attempt said
        rota requeue train --run release-7f3a2c  try it again, at no cost
        rota cancel train --run release-7f3a2c   give it up
      "
    `);
  });

  test("as JSON", () => {
    expect(whyJson(explained("review"))).toMatchInlineSnapshot(`
      {
        "age_ms": 26000,
        "at": "2026-03-14T12:00:26.000Z",
        "attempt": 0,
        "attempts_max": 1,
        "estimate_ms": 12000,
        "estimate_source": "observed",
        "failures": 0,
        "gates": [
          {
            "asked": 2,
            "capacity": 3,
            "free": 1,
            "gate": "resource",
            "name": "claude",
            "open": false,
            "scope": "plan",
          },
          {
            "asked": 1000,
            "capacity": 8000,
            "free": 8000,
            "gate": "resource",
            "name": "cpu",
            "open": true,
            "scope": "machine",
          },
          {
            "gate": "workers",
            "idle": 0,
            "open": false,
            "total": 4,
          },
        ],
        "position": {
          "of": 3,
          "place": 2,
        },
        "priority": "normal",
        "rank": 26833,
        "rank_unit": "ms",
        "reason": "resources",
        "run": "release-7f3a2c",
        "sentence": "review waits for resources: it asks for 2 claude, 1 of 3 is free (train holds 2 for 13s).",
        "since": "2026-03-14T12:00:00.000Z",
        "state": "ready",
        "task": "review",
        "unblock": {
          "at": "2026-03-14T13:00:13.000Z",
          "from": "time-out",
          "in_ms": 3587000,
        },
        "wait": {
          "reason": "resources",
          "short": [
            {
              "asked": 2,
              "capacity": 3,
              "free": 1,
              "holders": [
                {
                  "amount": 2,
                  "since": "2026-03-14T12:00:13.000Z",
                  "state": "running",
                  "task": "train",
                  "worker": "local/3",
                },
              ],
              "holders_total": 1,
              "name": "claude",
              "scope": "plan",
            },
          ],
        },
      }
    `);
    expect(whyJson(explained("e2e"))).toMatchObject({
      reason: "needs",
      unblock: { from: "path" },
      roots: [{ task: "build-web" }, { task: "build-api" }],
    });
  });
});
