import { describe, expect, test } from "vitest";
import { instant } from "../../domain/time.ts";
import type { Theme } from "../text/line.ts";
import { remainingText, type WorkerRow, workersText } from "./workers.ts";

const PLAIN: Theme = { color: false, unicode: true, timeZone: "UTC" };
const now = instant(Date.parse("2026-03-14T12:10:00Z"));
const show = (lines: readonly string[]): string => `\n${lines.join("\n")}\n`;

const local = (no: number, rest: Partial<WorkerRow> = {}): WorkerRow => ({
  worker: `local/${no}`,
  kind: "local",
  pool: "local",
  state: "idle",
  ...rest,
});
const held = { run: "release-7f3a2c", task: "review-api", since: "2026-03-14T12:07:30Z" };
const session = (worker: string, rest: Partial<WorkerRow>): WorkerRow => ({
  worker,
  kind: "session",
  pool: "reviewers",
  state: "idle",
  agent: "claude",
  seen_at: "2026-03-14T12:09:58Z",
  ...rest,
});

describe("the workers", () => {
  const workers = [
    local(1, { ...held, state: "busy", task: "build", started_at: "2026-03-14T12:00:00Z" }),
    local(2),
    session("claude-1", { ...held, state: "busy" }),
    session("claude-2", { state: "prompting", seen_at: "2026-03-14T12:01:00Z" }),
    session("reviewers-3", { state: "quarantined", agent: "reviewers" }),
  ];

  test("stand in one table, with what each does and when it was seen", () => {
    expect(show(workersText({ workers, paused: [], now }, { columns: 100 }, PLAIN))).toMatchInlineSnapshot(`
      "
      ● local/1      local               busy         build of release-7f3a2c       2m30s  started 10m ago
      ○ local/2      local               idle
      ● claude-1     reviewers · claude  busy         review-api of release-7f3a2c  2m30s  seen 2s ago
      ‖ claude-2     reviewers · claude  prompting                                         seen 9m ago
      ⊘ reviewers-3  reviewers           quarantined                                       seen 2s ago
      "
    `);
  });

  test("are followed by what is on hold", () => {
    const paused = [
      { of: "scheduler", by: "mo", why: "release day", at: "2026-03-14T12:09:00Z" },
      { of: "pool", pool: "reviewers", by: "ada", at: "2026-03-14T11:10:00Z" },
      { of: "task", task: "ship", run: "release-7f3a2c", by: "ada", at: "2026-03-14T12:09:59Z" },
    ] as const;
    const lines = workersText({ workers: workers.slice(0, 1), paused, now }, { columns: 80 }, PLAIN);
    expect(show(lines)).toMatchInlineSnapshot(`
      "
      ● local/1  local  busy  build of release-7f3a2c  2m30s  started 10m ago

      On hold
        ‖ everything                   asked by mo: release day  1m ago
        ‖ pool reviewers               asked by ada              1h ago
        ‖ task ship of release-7f3a2c  asked by ada              1s ago
      "
    `);
  });

  test("that are idle and local are counted beyond a few", () => {
    const many = Array.from({ length: 64 }, (_, index) => local(index + 1));
    const lines = workersText({ workers: many, paused: [], now }, { columns: 80 }, PLAIN);
    expect(lines).toHaveLength(9);
    expect(lines.at(-1)).toBe("  and 56 more that are idle");
  });
});

test("what a drain has left is listed with who has it", () => {
  const remaining = [
    { run: "release-7f3a2c", task: "review-api", worker: "claude-1" },
    { run: "release-7f3a2c", task: "build", worker: "local/1" },
  ];
  expect(show(remainingText(remaining, { columns: 80 }, PLAIN))).toMatchInlineSnapshot(`
    "
    2 tasks still out
      ● review-api  of release-7f3a2c  with claude-1
      ● build       of release-7f3a2c  with local/1
    "
  `);
});
