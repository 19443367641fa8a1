/**
 * The day of an agent over MCP, from the first claim to the last, as the clients of real agents live it: at each revision of the protocol, with two
 * tasks at once, a daemon that is killed and comes back, and a task that is cancelled meanwhile.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { describe, expect, onTestFinished, test } from "vitest";
import { freshDir, rota, type Started, startRota } from "../rig/cli.ts";

const MAIN = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
const MCP = ["mcp", "--pool", "agents", "--slots", "2"];
const PLAN = JSON.stringify({
  name: "day",
  tasks: {
    a: { prompt: "Do a.", pool: "agents" },
    b: { prompt: "Do b.", pool: "agents" },
    c: { prompt: "Do c.", pool: "agents", needs: ["a", "b"] },
  },
});

interface Told {
  readonly isError?: boolean | undefined;
  readonly content: readonly { readonly text?: string }[];
  readonly structuredContent?: Readonly<Record<string, unknown>>;
}
interface Agent {
  readonly call: (name: string, args?: object) => Promise<Told>;
  readonly close: () => Promise<unknown>;
}
const textOf = ({ content }: Told): string => content.map(({ text = "" }) => text).join("\n");

/** The official client, which opens as the newest revisions do. */
const official =
  (mode: "legacy" | "auto") =>
  async (cwd: string): Promise<Agent> => {
    const client = new Client({ name: "claude-code", version: "2" }, { versionNegotiation: { mode } });
    await client.connect(new StdioClientTransport({ command: process.execPath, args: [MAIN, ...MCP], cwd }));
    onTestFinished(() => client.close());
    return {
      call: async (name, args = {}) => (await client.callTool({ name, arguments: { ...args } })) as Told,
      close: () => client.close(),
    };
  };

/** A client of an older revision, by hand: its calls have a field that is no tool's, and it asks for what there is not. */
const raw =
  (protocolVersion: string) =>
  async (cwd: string): Promise<Agent> => {
    const { child, ask } = serverIn(cwd);
    const clientInfo = { name: "gemini-cli-mcp-client", version: "1" };
    const opened = await ask("initialize", { protocolVersion, capabilities: {}, clientInfo });
    expect(opened["result"]).toMatchObject({ protocolVersion, instructions: expect.stringContaining("claim_next") });
    for (const method of ["prompts/list", "resources/list"])
      expect(await ask(method)).toMatchObject({ error: { code: -32_601 } });
    return {
      call: async (name, args = {}) =>
        (await ask("tools/call", { name, arguments: { ...args, wait_for_previous: false } }))["result"] as Told,
      close: async () => {
        child.stdin?.end();
        await once(child, "exit");
      },
    };
  };

function serverIn(cwd: string) {
  const child: ChildProcess = spawn(process.execPath, [MAIN, ...MCP], { cwd, stdio: ["pipe", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  type Message = Readonly<Record<string, unknown>>;
  const waiting = new Map<unknown, (message: Message) => void>();
  createInterface({ input: child.stdout as NodeJS.ReadableStream }).on("line", (line) => {
    const message = JSON.parse(line) as Message;
    waiting.get(message["id"])?.(message);
  });
  let ids = 0;
  const ask = (method: string, params: object = {}): Promise<Message> => {
    const id = ids++;
    return new Promise((resolve) => {
      waiting.set(id, resolve);
      child.stdin?.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    });
  };
  return { child, ask };
}

async function daemonIn(cwd: string): Promise<Started> {
  const daemon = startRota(["serve", "--json"], { cwd });
  onTestFinished(async () => {
    daemon.child.kill("SIGKILL");
    await daemon.ended;
  });
  await daemon.says(/"socket"/);
  return daemon;
}

const sessionsIn = async (cwd: string): Promise<number> => {
  const { workers } = JSON.parse((await rota(["workers", "--json"], { cwd })).out) as { workers: { kind: string }[] };
  return workers.filter(({ kind }) => kind === "session").length;
};

describe.each([
  ["2024-11-05", raw("2024-11-05")],
  ["2025-03-26", raw("2025-03-26")],
  ["2025-06-18", raw("2025-06-18")],
  ["2025-11-25", official("legacy")],
  ["2026-07-28", official("auto")],
] as const)("a client of revision %s", (_, connect) => {
  test("works through a plan", async () => {
    const cwd = freshDir();
    const first = await daemonIn(cwd);
    const { call, close } = await connect(cwd);
    writeFileSync(join(cwd, "day.json"), PLAN);
    await rota(["submit", "day.json"], { cwd });

    const [one, two] = [await call("claim_next"), await call("claim_next")];
    expect([one, two].map((told) => told.structuredContent?.["task"])).toEqual(["a", "b"]);
    for (const told of [one, two]) expect(textOf(told)).toContain(told.structuredContent?.["prompt"]);
    expect(textOf(await call("claim_next", { waitMs: 0 }))).toMatch(/^SLOTS_TAKEN: .* holds a \(run .*\), b \(run/);
    expect((await call("progress", { task: "a", note: "half" })).isError ?? false).toBe(false);

    first.child.kill("SIGKILL");
    await first.ended;
    expect(textOf(await call("complete", { task: "a" }))).toMatch(/^DAEMON_\w+: .*Call again in 30 seconds/);
    await daemonIn(cwd);
    for (const task of ["a", "b"])
      expect((await call("complete", { task, summary: "done" })).structuredContent).toMatchObject({
        state: "succeeded",
        next: expect.stringContaining("claim_next"),
      });

    expect((await call("claim_next")).structuredContent).toMatchObject({ task: "c" });
    await rota(["cancel", "c", "--why", "enough"], { cwd });
    const heard = await call("status");
    expect(textOf(heard)).toMatch(/^Stop working on c \(run .*\): cancelled, "enough"/);
    expect(heard.structuredContent).toMatchObject({ notices: [expect.stringMatching(/^Stop working on c/)] });
    expect((await call("fail", { kind: "cancelled" })).structuredContent).toMatchObject({ state: "cancelled" });
    expect((await call("claim_next", { waitMs: 0 })).structuredContent).toMatchObject({ claimed: false });

    expect(await sessionsIn(cwd)).toBe(1);
    await close();
    await expect.poll(() => sessionsIn(cwd), { timeout: 20_000 }).toBe(0);
  });
});

/** The daemon does not answer before the second signal has come. */
async function endTwice(child: ChildProcess, daemon: ChildProcess): Promise<void> {
  daemon.kill("SIGSTOP");
  child.kill("SIGTERM");
  await once(child.stdin as Writable, "close");
  child.kill("SIGTERM");
  daemon.kill("SIGCONT");
}

test.each<[string, (child: ChildProcess, daemon: ChildProcess) => unknown]>([
  ["its input ends", (child) => void child.stdin?.end()],
  ["SIGINT", (child) => void child.kill("SIGINT")],
  ["SIGTERM", (child) => void child.kill("SIGTERM")],
  ["two SIGTERM", endTwice],
])("the session is left before the server ends by %s", async (_, end) => {
  const cwd = freshDir();
  const daemon = await daemonIn(cwd);
  const { child, ask } = serverIn(cwd);
  await ask("initialize", {
    protocolVersion: "2025-06-18",
    capabilities: {},
    clientInfo: { name: "codex", version: "1" },
  });
  await ask("tools/call", { name: "claim_next", arguments: { waitMs: 0 } });
  expect(await sessionsIn(cwd)).toBe(1);
  const ended = once(child, "exit");
  await end(child, daemon.child);
  expect(await ended).toEqual([0, null]);
  expect(await sessionsIn(cwd)).toBe(0);
});
