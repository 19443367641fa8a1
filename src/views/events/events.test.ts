import { expect, test } from "vitest";
import { NOON, RunFixture } from "../../../test/rig/run-fixture.ts";
import { type Event, NO_RUN } from "../../domain/event.ts";
import { workerId } from "../../domain/ids.ts";
import { millis, seconds } from "../../domain/time.ts";
import type { Theme } from "../text/line.ts";
import { eventJson, eventLine } from "./events.ts";

const PLAIN: Theme = { color: false, unicode: true, timeZone: "UTC" };

/** A run in which every kind of event happens. */
function everything(): RunFixture {
  const process = { pid: 99, startTime: "1", bootId: "b" };
  const asked = { by: "ada", why: "enough" };
  return new RunFixture({ a: {}, b: { needs: ["a"] }, gated: { gate: "Go?" }, poor: {}, lost: {} })
    .claim("a")
    .of("a", { kind: "started", process })
    .of("a", { kind: "lease_renewed", deadline: NOON })
    .pass(2)
    .of("a", { kind: "silent", forMs: seconds(2) })
    .of("a", { kind: "late_report_refused", fence: 0, reported: "success" })
    .retry("a", 5)
    .pass(5)
    .start("a")
    .of("a", { kind: "stopping", reason: { kind: "timeout", limit: "hard" } })
    .pass(1)
    .of("a", {
      kind: "failed",
      outcome: { kind: "timeout", limit: "hard", durationMs: millis(1_000) },
      reason: "abandoned",
    })
    .skip("b", "a")
    .of("gated", { kind: "approved", asked: { by: "ada" } })
    .of("gated", { kind: "set_back", by: millis(105_000) })
    .claim("gated")
    .of("gated", { kind: "released", why: "the scheduler was restarted" })
    .start("gated")
    .succeed("gated")
    .start("poor")
    .of("poor", { kind: "parked", reason: "attention", outcome: { kind: "auth", durationMs: millis(3) } })
    .of("poor", { kind: "requeued", asked })
    .of("poor", { kind: "cancelled", asked })
    .start("lost")
    .of("lost", { kind: "expired", worker: workerId("local/1"), notBefore: NOON })
    .ofRun({ kind: "run_stalled", remaining: 1, outcome: "waiting" })
    .ofRun({ kind: "run_reopened", epoch: 2 })
    .ofRun({ kind: "run_cancelling", by: "ada" })
    .of("lost", { kind: "cancelled", asked: { by: "ada" } })
    .ofRun({ kind: "run_finished", outcome: "failed" });
}

test("for people every event is one line", () => {
  const { events, run } = everything();
  expect(`\n${events.map((event) => eventLine(event, run, PLAIN)).join("\n")}\n`).toMatchInlineSnapshot(`
    "
        1  12:00:00  release               submitted with 5 tasks
        2  12:00:00  a                     claimed by local/1 (attempt 1, waited 0s)
        3  12:00:00  a                     started as pid 99
        3  12:00:00  a                     lease renewed
        4  12:00:02  a                     has been silent for 2s
        5  12:00:02  a                     report "success" refused: fence 0 is not the current one
        6  12:00:02  a                     exit code 1, tries again in 5s
        7  12:00:07  a                     claimed by local/1 (attempt 2, waited 5s)
        8  12:00:07  a                     started
        9  12:00:07  a                     is being stopped: hard time-out
       10  12:00:08  a                     failed: hard time-out, after 2 attempts
       11  12:00:08  b                     skipped, because a did not succeed
       12  12:00:08  gated                 approved, asked by ada
       13  12:00:08  gated                 is counted from here: the clock is 1m45s behind
       14  12:00:08  gated                 claimed by local/1 (attempt 1, waited 0s)
       15  12:00:08  gated                 given back: the scheduler was restarted
       16  12:00:08  gated                 claimed by local/1 (attempt 2, waited 0s)
       17  12:00:08  gated                 started
       18  12:00:08  gated                 succeeded in 0s
       19  12:00:08  poor                  claimed by local/1 (attempt 1, waited 8s)
       20  12:00:08  poor                  started
       21  12:00:08  poor                  parked (attention: auth)
       22  12:00:08  poor                  put back in the queue, asked by ada: enough
       23  12:00:08  poor                  cancelled, asked by ada: enough
       24  12:00:08  lost                  claimed by local/1 (attempt 1, waited 8s)
       25  12:00:08  lost                  started
       26  12:00:08  lost                  lost: the scheduler that ran it on local/1 died, and no scheduler took it over
       27  12:00:08  release               waits for a person, with 1 task left
       28  12:00:08  release               taken up again
       29  12:00:08  release               to be cancelled, asked by ada
       30  12:00:08  lost                  cancelled, asked by ada
       31  12:00:08  release               failed
    "
  `);
});

test("for programs every event is one object", () => {
  const { events, run } = everything();
  expect(`\n${events.map((event) => JSON.stringify(eventJson(event, run))).join("\n")}\n`).toMatchInlineSnapshot(`
    "
    {"seq":1,"at":"2026-03-14T12:00:00.000Z","run":"release-7f3a2c","kind":"run_submitted","name":"release","tasks":5}
    {"seq":2,"at":"2026-03-14T12:00:00.000Z","run":"release-7f3a2c","kind":"claimed","task":"a","version":1,"attempt":1,"fence":1,"worker":"local/1","deadline":"2026-03-14T12:00:30.000Z","evidence":{"lane":"normal","rank":1,"waited_ms":0}}
    {"seq":3,"at":"2026-03-14T12:00:00.000Z","run":"release-7f3a2c","kind":"started","task":"a","version":2,"attempt":1,"fence":1,"pid":99}
    {"seq":3,"at":"2026-03-14T12:00:00.000Z","run":"release-7f3a2c","kind":"lease_renewed","task":"a","version":2,"attempt":1,"fence":1,"deadline":"2026-03-14T12:00:00.000Z"}
    {"seq":4,"at":"2026-03-14T12:00:02.000Z","run":"release-7f3a2c","kind":"silent","task":"a","version":3,"attempt":1,"fence":1,"for_ms":2000}
    {"seq":5,"at":"2026-03-14T12:00:02.000Z","run":"release-7f3a2c","kind":"late_report_refused","task":"a","version":4,"attempt":1,"fence":0,"reported":"success"}
    {"seq":6,"at":"2026-03-14T12:00:02.000Z","run":"release-7f3a2c","kind":"retried","task":"a","version":5,"attempt":1,"fence":1,"outcome":{"kind":"exit","message":"exit code 1","code":1,"duration_ms":2000},"not_before":"2026-03-14T12:00:07.000Z","costs":true}
    {"seq":7,"at":"2026-03-14T12:00:07.000Z","run":"release-7f3a2c","kind":"claimed","task":"a","version":6,"attempt":2,"fence":2,"worker":"local/1","deadline":"2026-03-14T12:00:37.000Z","evidence":{"lane":"normal","rank":1,"waited_ms":5000}}
    {"seq":8,"at":"2026-03-14T12:00:07.000Z","run":"release-7f3a2c","kind":"started","task":"a","version":7,"attempt":2,"fence":2}
    {"seq":9,"at":"2026-03-14T12:00:07.000Z","run":"release-7f3a2c","kind":"stopping","task":"a","version":8,"attempt":2,"fence":2,"reason":"timeout","limit":"hard"}
    {"seq":10,"at":"2026-03-14T12:00:08.000Z","run":"release-7f3a2c","kind":"failed","task":"a","version":9,"attempt":2,"fence":2,"outcome":{"kind":"timeout","message":"hard time-out","limit":"hard","duration_ms":1000},"reason":"abandoned"}
    {"seq":11,"at":"2026-03-14T12:00:08.000Z","run":"release-7f3a2c","kind":"skipped","task":"b","version":1,"attempt":0,"because":"a"}
    {"seq":12,"at":"2026-03-14T12:00:08.000Z","run":"release-7f3a2c","kind":"approved","task":"gated","version":1,"attempt":0,"by":"ada"}
    {"seq":13,"at":"2026-03-14T12:00:08.000Z","run":"release-7f3a2c","kind":"set_back","task":"gated","version":2,"attempt":0,"by_ms":105000}
    {"seq":14,"at":"2026-03-14T12:00:08.000Z","run":"release-7f3a2c","kind":"claimed","task":"gated","version":3,"attempt":1,"fence":1,"worker":"local/1","deadline":"2026-03-14T12:00:38.000Z","evidence":{"lane":"normal","rank":1,"waited_ms":0}}
    {"seq":15,"at":"2026-03-14T12:00:08.000Z","run":"release-7f3a2c","kind":"released","task":"gated","version":4,"attempt":1,"fence":1,"why":"the scheduler was restarted"}
    {"seq":16,"at":"2026-03-14T12:00:08.000Z","run":"release-7f3a2c","kind":"claimed","task":"gated","version":5,"attempt":2,"fence":2,"worker":"local/1","deadline":"2026-03-14T12:00:38.000Z","evidence":{"lane":"normal","rank":1,"waited_ms":0}}
    {"seq":17,"at":"2026-03-14T12:00:08.000Z","run":"release-7f3a2c","kind":"started","task":"gated","version":6,"attempt":2,"fence":2}
    {"seq":18,"at":"2026-03-14T12:00:08.000Z","run":"release-7f3a2c","kind":"succeeded","task":"gated","version":7,"attempt":2,"fence":2,"outcome":{"kind":"success","message":"succeeded","duration_ms":0}}
    {"seq":19,"at":"2026-03-14T12:00:08.000Z","run":"release-7f3a2c","kind":"claimed","task":"poor","version":1,"attempt":1,"fence":1,"worker":"local/1","deadline":"2026-03-14T12:00:38.000Z","evidence":{"lane":"normal","rank":1,"waited_ms":8000}}
    {"seq":20,"at":"2026-03-14T12:00:08.000Z","run":"release-7f3a2c","kind":"started","task":"poor","version":2,"attempt":1,"fence":1}
    {"seq":21,"at":"2026-03-14T12:00:08.000Z","run":"release-7f3a2c","kind":"parked","task":"poor","version":3,"attempt":1,"fence":1,"reason":"attention","outcome":{"kind":"auth","message":"auth","duration_ms":3}}
    {"seq":22,"at":"2026-03-14T12:00:08.000Z","run":"release-7f3a2c","kind":"requeued","task":"poor","version":4,"attempt":1,"by":"ada","why":"enough"}
    {"seq":23,"at":"2026-03-14T12:00:08.000Z","run":"release-7f3a2c","kind":"cancelled","task":"poor","version":5,"attempt":1,"by":"ada","why":"enough"}
    {"seq":24,"at":"2026-03-14T12:00:08.000Z","run":"release-7f3a2c","kind":"claimed","task":"lost","version":1,"attempt":1,"fence":1,"worker":"local/1","deadline":"2026-03-14T12:00:38.000Z","evidence":{"lane":"normal","rank":1,"waited_ms":8000}}
    {"seq":25,"at":"2026-03-14T12:00:08.000Z","run":"release-7f3a2c","kind":"started","task":"lost","version":2,"attempt":1,"fence":1}
    {"seq":26,"at":"2026-03-14T12:00:08.000Z","run":"release-7f3a2c","kind":"expired","task":"lost","version":3,"attempt":1,"fence":1,"worker":"local/1","not_before":"2026-03-14T12:00:00.000Z"}
    {"seq":27,"at":"2026-03-14T12:00:08.000Z","run":"release-7f3a2c","kind":"run_stalled","remaining":1,"outcome":"waiting"}
    {"seq":28,"at":"2026-03-14T12:00:08.000Z","run":"release-7f3a2c","kind":"run_reopened","epoch":2}
    {"seq":29,"at":"2026-03-14T12:00:08.000Z","run":"release-7f3a2c","kind":"run_cancelling","by":"ada"}
    {"seq":30,"at":"2026-03-14T12:00:08.000Z","run":"release-7f3a2c","kind":"cancelled","task":"lost","version":4,"attempt":1,"by":"ada"}
    {"seq":31,"at":"2026-03-14T12:00:08.000Z","run":"release-7f3a2c","kind":"run_finished","outcome":"failed"}
    "
  `);
});

test("nothing of a token is ever shown", () => {
  const { events, run } = everything();
  expect(JSON.stringify(events)).toContain("secret");
  const shown = events
    .flatMap((event) => [JSON.stringify(eventJson(event, run)), eventLine(event, run, PLAIN)])
    .join("\n");
  expect(shown).not.toMatch(/secret|token|hash/i);
});

test("what follows from a call says who called", () => {
  const fixture = new RunFixture({ a: {} })
    .start("a", "s1")
    .of("a", { kind: "noted", note: "half", by: "ci (a1b2c3)" });
  const { events, run } = fixture;
  const place = { seq: 9, at: NOON, run: NO_RUN };
  const joined = {
    kind: "session_joined",
    profile: { id: workerId("s1"), agent: "claude", pool: "agents", capabilities: [], slots: 1, ttl: millis(5) },
    by: "ci (a1b2c3)",
    ...place,
  } as const;
  const drained = { kind: "drained", scope: { of: "scheduler" }, remaining: 0, by: "ada", ...place } as const;
  const submitted = { ...(events[0] as Extract<Event, { kind: "run_submitted" }>), by: "ada" };
  const said = [submitted, joined, drained].map((event) => eventLine(event, run, PLAIN).slice(39));
  expect(said).toEqual([
    "submitted with 1 task · by ada",
    "session s1 (claude) joined pool agents · by ci (a1b2c3)",
    "everything drained · by ada",
  ]);
  expect(eventJson(joined, undefined)).toMatchObject({ session: "s1", by: "ci (a1b2c3)" });
  expect(events.map((event) => Reflect.get(eventJson(event, run), "by"))).toEqual([
    undefined,
    undefined,
    undefined,
    "ci (a1b2c3)",
  ]);
});
