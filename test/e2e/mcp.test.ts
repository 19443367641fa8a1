/** `rota mcp` and `/mcp` of a real daemon, with the official client at the other end. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { describe, expect, onTestFinished, test } from "vitest";
import { freshDir, type Started, startRota } from "../rig/cli.ts";

const MAIN = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
const PLAN = `
name: review
tasks:
  read: { prompt: Read the code., pool: agents, writes: [notes/] }
  note: { run: echo noted > note.txt, needs: [read] }
`;

type Result = Readonly<Record<string, unknown>>;
interface Agent {
  readonly pid: number;
  readonly client: Client;
  readonly call: (name: string, args?: object) => Promise<Result>;
  /** The refusal of a call that is refused. */
  readonly refusal: (name: string, args?: object) => Promise<string>;
}

async function daemon(dir: string, args: readonly string[] = [], env: Record<string, string> = {}): Promise<Started> {
  const started = startRota(["serve", "--workers", "1", "--json", ...args], { cwd: dir, env });
  onTestFinished(async () => {
    started.child.kill("SIGKILL");
    await started.ended;
  });
  await started.says(/"socket"/);
  return started;
}

async function agent(dir: string, args: readonly string[] = ["--pool", "agents", "--scope", "admin"]): Promise<Agent> {
  const client = new Client({ name: "official", version: "2" }, { versionNegotiation: { mode: "auto" } });
  const transport = new StdioClientTransport({ command: process.execPath, args: [MAIN, "mcp", ...args], cwd: dir });
  await client.connect(transport);
  onTestFinished(() => client.close());
  return { pid: transport.pid as number, client, ...calls(client) };
}

const calls = (client: Client): Pick<Agent, "call" | "refusal"> => {
  const ask = async (name: string, args: object = {}) => await client.callTool({ name, arguments: { ...args } });
  return {
    call: async (name, args) => {
      const answer = await ask(name, args);
      if (answer.isError === true) throw new Error(JSON.stringify(answer.content));
      return answer.structuredContent as Result;
    },
    refusal: async (name, args) => {
      const { isError, content } = await ask(name, args);
      expect(isError).toBe(true);
      return (content[0] as { text: string }).text;
    },
  };
};

test("an agent submits a plan, does what is its to do, and the rest follows", async () => {
  const dir = freshDir();
  await daemon(dir);
  const { call, client } = await agent(dir);
  await client.listTools();
  const { run } = await call("submit", { text: PLAN });
  const claimed = await call("claim_next");
  expect(claimed).toMatchObject({ claimed: true, run, task: "read", prompt: "Read the code.", writes: ["notes/"] });
  expect(await call("progress", { note: "page one" })).toMatchObject({ task: "read" });
  expect(await call("why", { task: "read" })).toMatchObject({ state: "running" });
  expect(await call("complete", { summary: "read" })).toMatchObject({ state: "succeeded", repeated: false });
  await expect.poll(() => call("status", { run }), { timeout: 60_000 }).toMatchObject({ state: "succeeded" });
  expect(readFileSync(join(dir, "note.txt"), "utf8")).toBe("noted\n");
  const { events } = await call("events", { run });
  expect((events as { kind: string }[]).map(({ kind }) => kind)).toContain("claimed");
});

test("an agent that waits is given what another submits; an agent that is told to stop hears of it", async () => {
  const dir = freshDir();
  await daemon(dir);
  const [one, other] = await Promise.all([agent(dir), agent(dir, ["--agent", "boss", "--scope", "admin"])]);
  const waiting = one.call("claim_next");
  const { run } = await other.call("submit", { text: PLAN });
  expect(await waiting).toMatchObject({ run, task: "read" });
  await other.call("cancel", { run, task: "read", why: "wrong branch" });
  expect(await one.call("progress", { note: "going on" })).toMatchObject({
    stop: expect.anything(),
    notices: [expect.stringContaining("Stop working on read")],
  });
  expect(await one.call("fail", { kind: "cancelled" })).toMatchObject({ state: "cancelled" });
  await expect.poll(() => other.call("status", { run }), { timeout: 60_000 }).toMatchObject({ state: "cancelled" });
});

test("what an agent held that was killed goes to another when its lease runs out, and not before", async () => {
  const dir = freshDir();
  await daemon(dir, [], { ROTA_SESSION_TTL: "5s" });
  const [first, second] = await Promise.all([agent(dir), agent(dir)]);
  await second.call("claim_next", { waitMs: 0 });
  const { run } = await first.call("submit", { text: PLAN });
  const { fence, ttl_ms, lease_until: deadlineOfFirst } = await first.call("claim_next");
  process.kill(first.pid, "SIGKILL");
  const again = await second.call("claim_next", { waitMs: 60_000 });
  expect(again).toMatchObject({ claimed: true, task: "read" });
  expect(again["fence"]).toBeGreaterThan(fence as number);
  expect(ttl_ms).toBe(5_000);
  const { events } = (await second.call("events", { run })) as {
    events: { kind: string; fence?: number; at: string }[];
  };
  const claimedAt = events.find((event) => event.kind === "claimed" && event.fence === again["fence"])?.at ?? "";
  expect(Date.parse(claimedAt)).toBeGreaterThan(Date.parse(deadlineOfFirst as string));
  // Longer than a lease lasts, and the agent has not reported: the server renews it.
  const deadline = async (): Promise<number> => {
    const [held] = (await second.call("status"))["held"] as { lease_until: string }[];
    return Date.parse(held?.lease_until ?? "");
  };
  await expect.poll(deadline, { timeout: 60_000 }).toBeGreaterThan(Date.parse(again["lease_until"] as string) + 5_000);
  expect(await second.call("complete")).toMatchObject({ state: "succeeded" });
});

test("an agent is a worker unless its person says more: it submits nothing, and hears where there is work", async () => {
  const dir = freshDir();
  await daemon(dir);
  const [boss, worker] = await Promise.all([agent(dir), agent(dir, ["--pool", "writers"])]);
  const { tools } = await worker.client.listTools();
  expect(tools.map(({ name }) => name)).not.toContain("submit");
  expect(await worker.refusal("submit", { text: PLAN })).toMatch(/^FORBIDDEN: /);
  await boss.call("submit", { text: PLAN });
  expect(await worker.call("claim_next", { waitMs: 0 })).toMatchObject({
    claimed: false,
    pool: "writers",
    ready: [{ pool: "agents", ready: 1 }],
    next: expect.stringContaining("agents (1)"),
  });
});

test("without a daemon the agent is told so, and goes on once there is one", async () => {
  const dir = freshDir();
  const { refusal, call } = await agent(dir);
  expect(await refusal("status")).toMatch(/^DAEMON_MISSING: There is no daemon at .*Call again in 30 seconds/s);
  await daemon(dir);
  expect(await call("status")).toMatchObject({ runs: [] });
});

describe.each(["legacy", "auto"] as const)("over HTTP, as %s", (mode) => {
  test("the daemon itself is an MCP server", async () => {
    const dir = freshDir();
    const { said } = await daemon(dir, ["--listen", "127.0.0.1:0"]);
    const { url, token: file } = JSON.parse(said.out) as { url: string; token: string };
    const token = readFileSync(file, "utf8").trim();
    const client = new Client({ name: "official", version: "2" }, { versionNegotiation: { mode } });
    const headers = { authorization: `Bearer ${token}`, "rota-pool": "agents" };
    const transport = new StreamableHTTPClientTransport(new URL("/mcp", url), { requestInit: { headers } });
    await client.connect(transport);
    const { call } = calls(client);
    await call("submit", { text: PLAN, directory: dir });
    const { run, task, fence, token: proof } = await call("claim_next");
    expect(task).toBe("read");
    const lease = mode === "legacy" ? {} : { run, task, fence, token: proof };
    expect(await call("complete", lease)).toMatchObject({ state: "succeeded" });
    await client.close();

    const stranger = new Client({ name: "stranger", version: "1" });
    await expect(stranger.connect(new StreamableHTTPClientTransport(new URL("/mcp", url)))).rejects.toThrow();
  });
});
