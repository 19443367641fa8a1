/** Names, messages and logs with hostile text: no view lets it act on a terminal, a picture or a page. */
import { describe, expect, test } from "vitest";
import { RunFixture } from "../../test/rig/run-fixture.ts";
import { Dispatcher } from "../decide/dispatcher.ts";
import { blockers, explain, waitsOf } from "../decide/explain/explain.ts";
import type { Event } from "../domain/event.ts";
import { taskNo } from "../domain/graph.ts";
import { workerId } from "../domain/ids.ts";
import { instant, millis } from "../domain/time.ts";
import { grantText } from "./claim/grant.ts";
import { tokensText } from "./claim/tokens.ts";
import { eventLine } from "./events/events.ts";
import { reportOf } from "./report/report.ts";
import { reportText } from "./report/report-text.ts";
import { frame, liveModel, plainLine } from "./status/live.ts";
import { runsText } from "./status/runs.ts";
import { sessionText } from "./status/session.ts";
import { statusOf } from "./status/status.ts";
import { statusText } from "./status/status-text.ts";
import { remainingText, workersText } from "./status/workers.ts";
import type { Theme } from "./text/line.ts";
import { displayWidth } from "./text/text.ts";
import { RunProgress } from "./timeline/run-progress.ts";
import { timelineOf } from "./timeline/timeline.ts";
import { timelineHtml } from "./timeline/timeline-html.ts";
import { timelineSvg } from "./timeline/timeline-svg.ts";
import { timelineText } from "./timeline/timeline-text.ts";
import { whyText } from "./why/why.ts";

const controls = (from: number, to: number): string =>
  Array.from({ length: to - from }, (_, at) => String.fromCharCode(from + at)).join("");
const TERMINAL = `${controls(0, 0x20)}${controls(0x7f, 0xa0)}\u001b]52;c;eA==\u0007\u001b]8;;http://evil\u001b\\\u202e\u2066\u2028\ud800`;
const MARKUP = `"'><script>alert(1)</script><img src=x onerror=alert(1)>]]><!--&amp;`;

/** A run in which everything with a name is named `evil`. */
function fixtureOf(evil: string): RunFixture {
  const id = (name: string): string => `${name}${evil}`;
  const asked = { by: evil, why: evil };
  return new RunFixture(
    {
      [id("held")]: { title: evil, writes: ["dist/"], resources: { [evil]: 1 } },
      [id("hazard")]: { title: evil, reads: [`dist/${evil}`] },
      [id("short")]: { resources: { [evil]: 1 } },
      [id("never")]: { requires: [evil], resources: { [`x${evil}`]: 9 } },
      [id("gate")]: { gate: evil },
      [id("needs")]: { needs: [id("held"), id("gate")] },
      [id("retried")]: {},
      [id("failed")]: {},
      [id("skipped")]: { needs: [id("failed")] },
      [id("parked")]: {},
      [id("cancelled")]: {},
    },
    { name: evil, file: evil, id: id("run") as never, resources: { [evil]: 1, [`x${evil}`]: 1 } },
  )
    .start(id("held"), evil)
    .start(id("retried"), id("w"))
    .pass(1)
    .retry(id("retried"), 9)
    .start(id("failed"), id("w"))
    .of(id("failed"), { kind: "late_report_refused", fence: 0, reported: evil })
    .of(id("failed"), {
      kind: "failed",
      reason: "permanent",
      outcome: { kind: "spawn", message: evil, durationMs: millis(9) },
    })
    .skip(id("skipped"), id("failed"))
    .start(id("parked"), id("w"))
    .of(id("parked"), { kind: "released", why: evil })
    .start(id("parked"), id("w"))
    .of(id("parked"), {
      kind: "parked",
      reason: "attention",
      outcome: { kind: "auth", message: evil, durationMs: millis(9) },
    })
    .start(id("cancelled"), id("w"))
    .of(id("cancelled"), { kind: "stopping", reason: { kind: "cancelled", asked } })
    .of(id("cancelled"), { kind: "cancelled", asked })
    .pass(5);
}

/** Everything about it that is ever written to a terminal. */
function everyText(evil: string, columns: number, theme: Theme): string[] {
  const fixture = fixtureOf(evil);
  const { run, now, events } = fixture;
  const dispatcher = new Dispatcher({ workers: [workerId(evil)], capacity: {}, capabilities: [] });
  dispatcher.admit(run);
  const waitOf = waitsOf(dispatcher, run, now, {});
  const outcome = { kind: "lost", message: evil, durationMs: millis(1) } as const;
  const texts = { tailOf: () => [evil, `${evil}x`], logOf: () => evil };
  const owner = { pid: 1, host: evil, command: evil, workers: 1 };
  const resources = [{ name: evil, capacity: 3, free: 1 }];
  const asked = { asked: { by: evil, why: evil }, at: now };
  const pauses = [
    { scope: { of: "scheduler" }, ...asked },
    { scope: { of: "task", run: run.no, task: taskNo(0) }, ...asked },
  ] as const;
  const sessions = [{ session: evil, pool: evil, state: "idle" }] as const;
  const status = statusOf({ run, now, owner, waitOf, resources, pauses, sessions, newest: false, ...texts });
  const since = run.manifest.submittedAt;
  const live = liveModel({ run, now, since, waitOf, lastLineOf: () => evil, recent: events });
  const glimpse = { manifest: run.manifest, tasks: 1, status: run.status, cancelling: false };
  return [
    ...statusText(status, { columns }, theme),
    ...runsText({ runs: [glimpse], owned: true, now }, { columns }, theme),
    ...run.tasks.flatMap((task) =>
      [{ lastOutcome: outcome }, { paused: { by: evil, why: evil } }].flatMap((context) =>
        whyText(explain(dispatcher, run, task, now, context), { columns, newest: false, leavesLog: () => true }, theme),
      ),
    ),
    ...reportText(
      reportOf({ run, now, progress: RunProgress.of(run, events), blockers: blockers(dispatcher, run, now), ...texts }),
      { columns },
      theme,
    ),
    ...frame(live, { columns, rows: 60 }, theme),
    ...timelineText(timelineOf(run, events, now), { columns }, theme),
    ...daemonTexts(evil, columns, theme),
  ];
}

/** The answers of a daemon, as text. */
function daemonTexts(evil: string, columns: number, theme: Theme): string[] {
  const now = instant(1_000);
  const of = { run: evil, task: evil, deadline: evil };
  const worker = {
    worker: evil,
    kind: "session",
    pool: evil,
    state: evil,
    agent: `x${evil}`,
    since: evil,
    ...of,
  } as const;
  const pause = { of: "task", by: evil, why: evil, at: evil, ...of } as const;
  const token = { id: evil, name: evil, scope: evil as "read", created_at: evil };
  const hold = { ...of, fence: 1 };
  return [
    ...workersText({ workers: [worker], paused: [pause], now }, { columns }, theme),
    ...remainingText([{ ...of, worker: evil }], { columns }, theme),
    ...sessionText(
      { session: evil, pool: evil, state: evil as "idle", slots: 1, holds: [hold, { ...hold, stop: evil }] },
      { columns, now },
      theme,
    ),
    ...tokensText([token, { ...token, expires_at: evil }], { columns, now }, theme),
  ];
}
/** Lines that are not cut, since a pipe has no width. */
function everyLine(evil: string, theme: Theme): string[] {
  const { events, run } = fixtureOf(evil);
  const grant = {
    ...{ run: evil, task: evil, attempt: 1, fence: 1, deadline: evil, title: evil, priority: evil as "high" },
    ...{ directory: evil, env: { [evil]: evil }, reads: [evil], writes: [evil] },
  };
  const shown = { columns: 80, now: instant(1_000) };
  const submitted = events
    .filter(({ kind }) => kind === "run_submitted")
    .map((event) => ({ ...event, by: evil }) as Event);
  return [
    ...[...events, ...submitted].flatMap((event) => [eventLine(event, run, theme), plainLine(event, run, theme) ?? ""]),
    ...grantText({ ...grant, prompt: evil }, shown, theme),
    ...grantText({ ...grant, command: [evil, evil] }, shown, theme),
  ];
}

/** Text without anything that a terminal acts on. */
const HARMLESS = /^[^\p{Cc}\p{Cs}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]*$/u;
const OUR_COLOURS = new RegExp(`${String.fromCharCode(0x1b)}\\[(?:0|1|2|31|32|33|36)m`, "g");

describe("on a terminal", () => {
  test.each([false, true])("no control character comes through (colour: %s)", (color) => {
    const theme = { color, unicode: true, timeZone: "UTC" };
    const lines = [...everyText(TERMINAL, 400, theme), ...everyLine(TERMINAL, theme)];
    expect(lines.join("")).toContain("\\x1b");
    for (const line of lines) expect(color ? line.replace(OUR_COLOURS, "") : line).toMatch(HARMLESS);
  });

  test("without UTF-8 nothing but ASCII comes through", () => {
    const theme = { color: false, unicode: false, timeZone: "UTC" };
    const evil = `Ûnïcode 日本語 ${TERMINAL}`;
    for (const line of [...everyText(evil, 120, theme), ...everyLine(evil, theme)])
      expect(line).toMatch(/^[\x20-\x7e]*$/);
  });

  test.each([24, 40, 80, 120, 200])("nothing is wider than %i columns", (columns) => {
    const theme = { color: false, unicode: true, timeZone: "UTC" };
    for (const evil of ["", "日本語👩‍💻", "very-long-".repeat(30), TERMINAL]) {
      for (const line of everyText(evil, columns, theme)) expect(displayWidth(line)).toBeLessThanOrEqual(columns);
    }
  });

  test("every view has something to say about the plainest of runs", () => {
    const theme = { color: false, unicode: true, timeZone: "UTC" };
    expect(everyText("", 80, theme).length).toBeGreaterThan(80);
  });
});

describe("in a picture and in a page", () => {
  const TAGS = /<\/?([a-z!]+)/gi;
  const tagsOf = (text: string): ReadonlySet<string> => new Set([...text.matchAll(TAGS)].map(([, tag = ""]) => tag));
  const drawn = (evil: string, draw: typeof timelineSvg): string => {
    const { run, events, now } = fixtureOf(evil);
    return draw(timelineOf(run, events, now));
  };

  test.each([
    ["SVG", timelineSvg],
    ["HTML", timelineHtml],
  ])("names stay text: %s", (_, draw) => {
    const text = drawn(MARKUP, draw);
    expect(tagsOf(text)).toEqual(tagsOf(drawn("", draw)));
    expect(text).not.toContain("<script>alert");
    expect(text).toContain("&lt;script&gt;");
    expect(text).toContain("&amp;amp;");
    expect(text.match(/"/g)?.length).toBe(drawn("", draw).match(/"/g)?.length);
  });

  test("what XML forbids is spelled out", () => {
    const svg = drawn(TERMINAL, timelineSvg);
    expect(svg.replaceAll("\n", "")).toMatch(HARMLESS);
    expect(svg).toContain("\\x00");
  });
});
