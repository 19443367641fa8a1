import { describe, expect, test } from "vitest";
import { releaseDispatcher, releaseFixture } from "../../../test/rig/release.ts";
import { RunFixture } from "../../../test/rig/run-fixture.ts";
import { waitsOf } from "../../decide/explain/explain.ts";
import { forecast } from "../../domain/durations/estimate.ts";
import { seconds } from "../../domain/time.ts";
import type { Theme } from "../text/line.ts";
import { displayWidth } from "../text/text.ts";
import { frame, type LiveModel, liveModel, plainLine } from "./live.ts";

const PLAIN: Theme = { color: false, unicode: true, timeZone: "UTC" };
const SAID: Readonly<Record<string, string>> = {
  "build-api": "\u001b[32m   Compiling\u001b[0m serde v1.0.219 (/home/ada/.cargo/registry/src/index.crates.io/serde)",
  "build-web": "10%\r55%",
};

function modelOf(fixture: RunFixture, stopping = false): LiveModel {
  const left = forecast(fixture.run, 4, fixture.now);
  return liveModel({
    run: fixture.run,
    now: fixture.now,
    since: fixture.run.manifest.submittedAt,
    waitOf: waitsOf(releaseDispatcher(fixture), fixture.run, fixture.now),
    lastLineOf: ({ spec }) => SAID[spec.id],
    recent: fixture.events,
    stopping,
    ...(left !== undefined && { forecast: left }),
  });
}
const show = (lines: readonly string[]): string => `\n${lines.join("\n")}\n`;

describe("the live view", () => {
  test("shows what runs, what waits and what ended", () => {
    expect(show(frame(modelOf(releaseFixture()), { columns: 80, rows: 30 }, PLAIN))).toMatchInlineSnapshot(`
      "
      ● release  26s  about 1m22s left (longest path)                        3/16  19%
      ━━━━━╳╳╳╳╳╌╌╌╌╌╍╍╍╍╍╍╍╍╍╍╍╍╍╍╍╍╍╍╍╍─────────────────────────────────────────────
      1 done · 1 failed · 4 running · 5 ready · 4 blocked · 1 skipped

      ● build-api  14s  Compiling serde v1.0.219 (/home/ada/.cargo/registry/src/index…
      ● build-web  14s  55%
      ● train      13s
      ● 日本語      4s

      ◌ announce                   needs approval: Tell the world?
      ○ flaky                      tries again in 7s
      ○ docs  Render the handbook  dist/ is in use by build-api
      ○ review                     claude: asks 2, 1 free

      ✖ broken exit code 2 after 8s
      ⊘ after-broken skipped, because broken did not succeed
      ✔ fetch 12s
      ↻ flaky exit code 1 after 13s, again in 20s
      "
    `);
  });

  test("shows less where there is less room, and what runs before the rest", () => {
    expect(show(frame(modelOf(releaseFixture()), { columns: 50, rows: 11 }, PLAIN))).toMatchInlineSnapshot(`
      "
      ● release  26s  about 1m22s left (longe… 3/16  19%
      ━━━╳╳╳╌╌╌╍╍╍╍╍╍╍╍╍╍╍╍╍────────────────────────────
      1 done · 1 failed · 4 running · 5 ready · 4 block…

      ● build-api  14s  Compiling serde v1.0.219 (/home…
      ● build-web  14s  55%
      ● train      13s
      ● 日本語      4s

      ◌ announce                needs approval: Tell th…
      "
    `);
  });

  test("works in ASCII, for terminals that know nothing else", () => {
    const theme = { ...PLAIN, unicode: false };
    expect(show(frame(modelOf(releaseFixture()), { columns: 60, rows: 30 }, theme))).toMatchInlineSnapshot(`
      "
      * release  26s  about 1m22s left (longest path)    3/16  19%
      ====xxxx::::>>>>>>>>>>>>>>>---------------------------------
      1 done - 1 failed - 4 running - 5 ready - 4 blocked - 1 ski~

      * build-api  14s  Compiling serde v1.0.219 (/home/ada/.carg~
      * build-web  14s  55%
      * train      13s
      * ??????      4s

      . announce                   needs approval: Tell the world?
      o flaky                      tries again in 7s
      o docs  Render the handbook  dist/ is in use by build-api
      o review                     claude: asks 2, 1 free

      x broken exit code 2 after 8s
      - after-broken skipped, because broken did not succeed
      + fetch 12s
      ~ flaky exit code 1 after 13s, again in 20s
      "
    `);
  });

  test("has colour, which says nothing that the signs do not", () => {
    const [header = ""] = frame(modelOf(releaseFixture(), true), { columns: 80, rows: 30 }, { ...PLAIN, color: true });
    expect(JSON.stringify(header)).toMatchInlineSnapshot(
      `""\\u001b[33m‖\\u001b[0m \\u001b[1mrelease\\u001b[0m  26s\\u001b[33m  stopping\\u001b[0m                                               3/16  \\u001b[1m19%\\u001b[0m""`,
    );
  });

  test("never has more lines than rows less one, nor wider ones than columns", () => {
    const ids = Array.from({ length: 10_000 }, (_, at) => `task-${at}-日本語`);
    const big = new RunFixture(Object.fromEntries(ids.map((id) => [id, {}])));
    for (const id of ids.slice(0, 200)) big.start(id);
    for (const model of [modelOf(releaseFixture()), modelOf(big), modelOf(new RunFixture({}))]) {
      for (const rows of [1, 2, 3, 4, 5, 6, 7, 8, 10, 24, 100]) {
        for (const columns of [10, 20, 40, 80, 200]) {
          const lines = frame(model, { columns, rows }, PLAIN);
          expect(lines.length).toBeLessThanOrEqual(Math.max(1, rows - 1));
          expect(Math.max(...lines.map(displayWidth))).toBeLessThanOrEqual(columns);
        }
      }
    }
  });
});

test("in a pipe every event that matters is one line", () => {
  const fixture = new RunFixture({ build: {}, ship: { needs: ["build"] }, train: {}, old: {} });
  fixture
    .start("build")
    .pass(3.1)
    .retry("build", 2, 75)
    .pass(2)
    .start("build")
    .of("build", { kind: "silent", forMs: seconds(300) });
  fixture
    .pass(1)
    .of("build", { kind: "stopping", reason: { kind: "timeout", limit: "soft" } })
    .fail("build", 1)
    .skip("ship", "build");
  fixture.start("train").of("train", { kind: "parked", reason: "attention" });
  fixture.start("old").of("old", { kind: "lease_renewed", deadline: fixture.now });
  fixture
    .of("old", { kind: "expired", worker: "local/1" as never, notBefore: fixture.now })
    .start("old")
    .pass(2)
    .succeed("old");
  fixture.of("train", { kind: "cancelled", asked: { by: "ada" } }).ofRun({ kind: "run_finished", outcome: "failed" });
  const lines = fixture.events.flatMap((event) => plainLine(event, fixture.run, PLAIN) ?? []);
  expect(show(lines)).toMatchInlineSnapshot(`
    "
    12:00:00 release submitted with 4 tasks
    12:00:00 ● build started
    12:00:03 ↻ build exit code 75 after 3.1s, again in 2s
    12:00:05 ● build (attempt 2) started
    12:00:05 · build has been silent for 5m
    12:00:06 · build is being stopped: soft time-out
    12:00:06 ✖ build (attempt 2) exit code 1 after 1s
    12:00:06 ⊘ ship skipped, because build did not succeed
    12:00:06 ● train started
    12:00:06 ‖ train parked (attention)
    12:00:06 ● old started
    12:00:06 ↻ old lost: the scheduler that ran it on local/1 died, and no scheduler took it over
    12:00:06 ● old started
    12:00:08 ✔ old 2s
    12:00:08 ⊘ train cancelled, asked by ada
    12:00:08 release failed
    "
  `);
});

test("an attempt that was taken back before it began is not counted to a reader", () => {
  const fixture = new RunFixture({ a: { title: "Build it" } }).claim("a").of("a", { kind: "released", why: "restart" });
  fixture.start("a").pass(1).fail("a");
  const lines = fixture.events.flatMap((event) => plainLine(event, fixture.run, PLAIN) ?? []);
  expect(lines.slice(1)).toEqual(["12:00:00 ● a started  Build it", "12:00:01 ✖ a exit code 1 after 1s"]);
});
