import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { converse, type ToolResult } from "../../test/rig/mcp.ts";
import { fakeDaemon } from "../../test/rig/mcp-daemon.ts";
import { startedEvent, statusReply } from "../../test/rig/replies.ts";
import { UserError } from "../domain/errors.ts";
import { planReader } from "./plan-text.ts";

const textOf = ({ content }: ToolResult): string => content.map(({ text }) => text).join("\n");

async function opened(overrides: Parameters<typeof fakeDaemon>[0] = {}) {
  const client = converse({ daemon: fakeDaemon(overrides) });
  await client.open();
  return client;
}

describe("submit", () => {
  test("takes the plan as text, which then belongs where the server was started", async () => {
    const client = await opened();
    const answer = await client.call("submit", { text: "tasks: {}", key: "k" });
    expect(client.daemon.callsOf("submit")[0]?.args).toEqual([
      { text: "tasks: {}", file: "plan.yaml", directory: "/project", key: "k" },
    ]);
    expect(answer.structuredContent).toMatchObject({ run: "r1", tasks: 2, repeated: false });
  });

  test("takes the plan as a path, and another directory for it", async () => {
    const client = await opened();
    await client.call("submit", { path: "release.yaml" });
    await client.call("submit", { path: "release.yaml", directory: "/elsewhere" });
    expect(client.daemon.callsOf("submit").map(({ args }) => args[0])).toEqual([
      { text: "tasks: {}", file: "release.yaml", directory: "/plans" },
      { text: "tasks: {}", file: "release.yaml", directory: "/elsewhere" },
    ]);
  });

  test.each([{}, { text: "a", path: "b" }])("refuses %j", async (args) => {
    const client = await opened();
    expect(textOf(await client.call("submit", args))).toMatch(/^USAGE: A plan is given either as/);
    expect(client.daemon.calls).toEqual([]);
  });

  test("says everything that is wrong with a plan, up to a bound", async () => {
    const diagnostics = Array.from({ length: 30 }, (_, line) => ({ code: "type", line }));
    const client = await opened({
      submit: () => Promise.reject(new UserError("PLAN_INVALID", "It has 30 problems.", { diagnostics })),
    });
    const answer = await client.call("submit", { text: "x" });
    expect(answer.isError).toBe(true);
    const lines = textOf(answer).split("\n");
    expect(lines[0]).toMatch(/^PLAN_INVALID: It has 30 problems\./);
    expect(lines[1]).toBe('{"code":"type","line":0}');
    expect(lines.at(-1)).toBe("and 10 more");
  });
});

describe("a plan at a path", () => {
  test("is read relative to where the server was started", async () => {
    const dir = mkdtempSync(join(tmpdir(), "rota-mcp-"));
    onTestFinished(() => rmSync(dir, { recursive: true }));
    writeFileSync(join(dir, "plan.yaml"), "tasks: {}\n");
    const file = join(dir, "plan.yaml");
    expect(await planReader(dir)("plan.yaml")).toEqual({ text: "tasks: {}\n", file, directory: dir });
    expect(await planReader()(file)).toEqual({ text: "tasks: {}\n", file, directory: dir });
    await expect(planReader()("plan.yaml")).rejects.toMatchObject({ code: "USAGE" });
    await expect(planReader(dir)("none.yaml")).rejects.toMatchObject({ code: "PLAN_UNREADABLE" });
  });
});

describe("status", () => {
  test("without a run is an overview", async () => {
    const client = await opened();
    const answer = await client.call("status");
    expect(textOf(answer)).toMatchInlineSnapshot(`
      "3 queued, 1 being worked on, 0 parked; 1 session, 2 local workers; last event 42
      r1 release: active, 2 tasks
      Look at one with \`status\` and its \`run\`."
    `);
    expect(answer.structuredContent).toMatchObject({ queued: 3, runs_more: false, last_seq: 42, held: [] });
  });

  test("of a run lists little, counts everything, and says how to get more", async () => {
    const tasks = Array.from({ length: 500 }, (_, at) => ({ task: `t${at}` }));
    const at = "2026-03-14T12:00:00.000Z";
    const running = tasks.map((task) => ({
      ...task,
      ...{ state: "running" as const, worker: "w1", attempt: 1, since: at, age_ms: 61_000, deadline: at },
    }));
    const wait = { reason: "capacity", workers: 1, idle: 0 } as const;
    const outcome = { kind: "exit", code: 1, message: "exit code 1", duration_ms: 5 } as const;
    const client = await opened({
      status: async () =>
        statusReply({
          name: "big",
          tasks: { total: 1_001, running: 500, ready: 500, failed: 1, blocked: 0 },
          running,
          waiting: [{ reason: "capacity", count: 500, tasks: tasks.map((task) => ({ ...task, wait })) }],
          failed: [{ task: "x", at, attempts: 3, outcome, reason: "abandoned", skipped: 0 }],
        }),
    });
    const answer = await client.call("status", { run: "last", limit: 2 });
    expect(textOf(answer)).toMatchInlineSnapshot(`
      "r1 big: running; 1,001 tasks: 500 ready, 500 running, 1 failed
      running t0 by w1, attempt 1, for 1m01s
      running t1 by w1, attempt 1, for 1m01s
      waiting for capacity: 500 (t0, t1)
      failed x after 3: {"kind":"exit","code":1,"message":"exit code 1","duration_ms":5}
      Cut: running: 2 of 500; waiting[0].tasks: 2 of 500. Ask with a higher \`limit\` for more."
    `);
    expect(JSON.stringify(answer).length).toBeLessThan(2_000);
  });

  test.each([null, "text", 7, [], { running: 5, waiting: [null, { tasks: "x" }], failed: {} }])(
    "bears whatever a daemon answers: %j",
    async (status) => {
      const client = await opened({ status: async () => status as never });
      expect((await client.call("status", { run: "r" })).isError).toBe(false);
    },
  );
});

describe("events", () => {
  test("come in pages, each with where the next begins", async () => {
    const client = await opened();
    const answer = await client.call("events", { limit: 3, after: 10 });
    expect(answer.structuredContent).toMatchObject({ last_seq: 13, more: expect.stringContaining("after=13") });
    expect(textOf(answer).split("\n")).toEqual([
      ...[11, 12, 13].map((seq) => JSON.stringify(startedEvent(seq))),
      "There are more: call `events` with after=13.",
    ]);
    const last = await client.call("events", { after: 198 });
    expect(last.structuredContent).toMatchObject({ last_seq: 200 });
    expect(last.structuredContent).not.toHaveProperty("more");
    expect(textOf(await client.call("events", { after: 200 }))).toBe("No events after 200.");
  });

  test("are asked for by run and task", async () => {
    const client = await opened();
    await client.call("events", { run: "last", task: "build" });
    expect(client.daemon.callsOf("events")[0]?.args).toEqual([
      { run: "last", task: "build", after: 0, limit: 51, follow: false },
    ]);
  });
});

test("stepping in is passed on with its reason", async () => {
  const client = await opened();
  await client.call("cancel", { run: "r1", task: "build", why: "wrong" });
  await client.call("pause", { pool: "p", why: "lunch" });
  await client.call("resume", { pool: "p" });
  expect(client.daemon.calls.map(({ name, args }) => [name, ...args])).toEqual([
    ["cancel", { run: "r1", task: "build", why: "wrong" }],
    ["pause", { pool: "p", why: "lunch" }],
    ["resume", { pool: "p" }],
  ]);
});

test("arguments that do not fit are told to the agent, which can mend them", async () => {
  const client = await opened();
  const answer = await client.call("cancel", { task: 5, because: "x" });
  expect(answer.isError).toBe(true);
  expect(textOf(answer)).toMatchInlineSnapshot(
    `"REQUEST_INVALID: task must be text, not 5. this call lacks "run". (\`cancel\` takes: run, task, why.)"`,
  );
  expect(client.daemon.calls).toEqual([]);
});
