import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  PROTOCOL_VERSION_META_KEY,
  SERVER_INFO_META_KEY,
  STDIO_DEFAULT_MAX_BUFFER_SIZE,
} from "@modelcontextprotocol/server";
import { describe, expect, test } from "vitest";
import { converse } from "../../test/rig/mcp.ts";
import { grant } from "../../test/rig/mcp-daemon.ts";
import type { Scope } from "../wire/scope.ts";
import { TOOLS } from "./tools.ts";

const META = {
  version: PROTOCOL_VERSION_META_KEY,
  clientCapabilities: CLIENT_CAPABILITIES_META_KEY,
  clientInfo: CLIENT_INFO_META_KEY,
  serverInfo: SERVER_INFO_META_KEY,
};
const STATELESS = {
  [META.version]: "2026-07-28",
  [META.clientCapabilities]: {},
  [META.clientInfo]: { name: "codex", version: "1" },
};
const REVISIONS = ["2026-07-28", "2025-11-25", "2025-06-18"] as const;

/** A scripted client of one revision: it opens, and says in each request what that revision wants said. */
async function client(revision: (typeof REVISIONS)[number], ...options: Parameters<typeof converse>) {
  const talk = converse(...options);
  const isStateless = revision === "2026-07-28";
  const meta = isStateless ? STATELESS : {};
  const opening = isStateless ? await talk.ask("server/discover", { _meta: meta }) : await talk.open(revision);
  if (!isStateless) await talk.send({ jsonrpc: "2.0", method: "notifications/initialized" });
  return {
    ...talk,
    opening: opening["result"],
    ask: (method: string, params: object = {}) => talk.ask(method, { ...params, _meta: meta }),
    call: (name: string, args: object = {}, more: object = {}) => talk.call(name, args, { ...meta, ...more }),
    begin: (name: string, args: object = {}, more: object = {}) => talk.begin(name, args, { ...meta, ...more }),
  };
}

describe.each(REVISIONS)("a client of revision %s", (revision) => {
  test("hears who is there, what there is to do and how", async () => {
    const { opening } = await client(revision);
    expect(opening).toMatchObject({
      capabilities: { tools: {} },
      instructions: expect.stringContaining("claim_next"),
      ...(revision === "2026-07-28"
        ? { resultType: "complete", supportedVersions: ["2026-07-28"], _meta: { [META.serverInfo]: { name: "rota" } } }
        : { protocolVersion: revision, serverInfo: { name: "rota", title: "Rota", version: "1.2.3" } }),
    });
  });

  test("is given every tool at once, with plain JSON Schemas and hints", async () => {
    const { ask } = await client(revision);
    const { tools, ...rest } = (await ask("tools/list"))["result"] as { tools: Record<string, unknown>[] };
    expect(tools).toEqual(
      TOOLS.map(({ name, description, annotations, input, output }) => ({
        name,
        title: annotations.title,
        description,
        inputSchema: input.json,
        outputSchema: output,
        annotations,
      })),
    );
    expect(rest).not.toHaveProperty("nextCursor");
    expect(await ask("tools/list", { cursor: "2" })).toMatchObject({ error: { code: -32_602 } });
  });

  test("works through a task, with text for some models and data for others", async () => {
    const { call, daemon, heard } = await client(revision);
    daemon.ready.push(grant());
    const claimed = await call("claim_next", {}, { "vendor/unheard-of": { a: 1 } });
    expect(claimed).toMatchObject({ isError: false, structuredContent: { claimed: true, prompt: "Build it." } });
    expect(claimed.content[0]?.text).toContain("Build it.");
    const done = await call("complete", { summary: "built" });
    expect(done).toMatchObject({ isError: false, structuredContent: { task: "build", state: "succeeded" } });
    expect(daemon.callsOf("complete")[0]?.by).toBe(revision === "2026-07-28" ? "codex" : "claude-code");
    expect(heard.every(({ jsonrpc }) => jsonrpc === "2.0")).toBe(true);
  });

  test("takes ids of either kind, and 0 is one", async () => {
    const { send, answerTo } = await client(revision);
    const params = { name: "status", arguments: {}, _meta: revision === "2026-07-28" ? STATELESS : {} };
    for (const id of [0, "0", "discover-1"]) {
      await send({ jsonrpc: "2.0", id, method: "tools/call", params });
      expect(answerTo(id)).toMatchObject({ result: { isError: false } });
    }
  });

  test("hears every ten seconds that a call still waits, until it is answered", async () => {
    const { begin, heard, clock, daemon, answerTo } = await client(revision);
    const id = await begin("claim_next", { waitMs: 60_000 }, { progressToken: "p" });
    await clock.advance(25_000);
    const told = () => heard.filter(({ method }) => method === "notifications/progress").map(({ params }) => params);
    expect(told()).toMatchObject([
      { progressToken: "p", progress: 10_000, total: 60_000, message: "Nothing to claim yet." },
      { progressToken: "p", progress: 20_000, total: 60_000, message: "Nothing to claim yet." },
    ]);
    daemon.waiting[0]?.give(grant());
    await clock.advance(60_000);
    expect(told().length).toBe(2);
    expect(answerTo(id)).toMatchObject({ result: { structuredContent: { claimed: true } } });
  });

  test("ends a call that waits by cancelling it, and may cancel what was answered", async () => {
    const { begin, send, clock, daemon, answerTo, call } = await client(revision);
    const id = await begin("claim_next", { waitMs: 75_000 });
    await send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id, reason: "60 s" } });
    await clock.advance(1_000);
    expect(daemon.waiting[0]?.signal?.aborted).toBe(true);
    await send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id } });
    await send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "never" } });
    expect((await call("status")).isError).toBe(false);
    expect(answerTo(id)).toBeUndefined();
  });

  test("is told of methods that there are not, and goes on", async () => {
    const { ask, call } = await client(revision);
    for (const method of ["resources/list", "prompts/list", "logging/setLevel", "__proto__", "constructor"])
      expect(await ask(method)).toMatchObject({ error: { code: -32_601 } });
    expect((await call("status")).isError).toBe(false);
  });

  test.each([
    ["an unknown tool", { name: "approve" }],
    ["no tool", {}],
    ["something that cannot be told", { name: { toString: 5 } }],
    ["a key of the language", { name: "__proto__" }],
    ["arguments that are no object", { name: "status", arguments: [1] }],
  ])("is refused a call of %s", async (_, params) => {
    const { ask } = await client(revision);
    expect(await ask("tools/call", params)).toMatchObject({ error: { code: -32_602 } });
  });

  test("may say nothing where arguments would stand", async () => {
    const { ask } = await client(revision);
    const params = { name: "status", arguments: null };
    expect(await ask("tools/call", params)).toMatchObject({ result: { isError: false } });
  });

  test("leaves the session when it goes", async () => {
    const { call, hangUp, daemon } = await client(revision);
    await call("claim_next", { waitMs: 0 });
    await hangUp();
    expect(daemon.callsOf("leave").length).toBe(1);
  });

  test("is not answered beyond a bound of calls at once", async () => {
    const { begin, answerTo } = await client(revision);
    const ids: number[] = [];
    for (let call = 0; call < 65; call++) ids.push(await begin("claim_next"));
    expect(ids.filter((id) => answerTo(id) !== undefined)).toEqual([ids[64]]);
    expect(answerTo(ids[64])).toMatchObject({ error: { code: -32_603 } });
  });
});

describe("the opening", () => {
  test.each(["2025-03-26", "2024-11-05"])("agrees on the older %s too", async (version) => {
    expect(await converse().open(version)).toMatchObject({ result: { protocolVersion: version } });
  });

  test.each(["1900-01-01", ""])("offers the newest it has to a client that asks for %j", async (version) => {
    expect(await converse().open(version)).toMatchObject({ result: { protocolVersion: "2025-11-25" } });
  });

  test("may follow a question of what there is that a client asked of a later revision", async () => {
    const talk = converse();
    expect(await talk.ask("server/discover", { _meta: STATELESS })).toHaveProperty("result");
    expect(await talk.open("2025-06-18")).toMatchObject({ result: { protocolVersion: "2025-06-18" } });
    expect((await talk.call("status")).isError).toBe(false);
  });

  test.each([
    ["of an unknown version", { ...STATELESS, [META.version]: "1900-01-01" }, -32_022],
    ["whose version is no text", { ...STATELESS, [META.version]: 7 }, -32_602],
    ["without capabilities", { [META.version]: "2026-07-28" }, -32_602],
  ])("is refused to a request %s", async (_, meta, code) => {
    expect(await converse().ask("tools/list", { _meta: meta })).toMatchObject({ error: { code } });
  });
});

describe("what is no request", () => {
  test("is passed over, and what follows is still read", async () => {
    const { write, send, heard, ask } = converse();
    for (const line of ["", "   ", "{nonsense", "42", "[]"]) await write(line);
    await send({ jsonrpc: "2.0", method: "notifications/unheard-of", params: {} });
    await send({ jsonrpc: "2.0", id: 9, result: {} });
    expect(heard).toEqual([]);
    expect(await ask("ping")).toMatchObject({ result: {} });
  });

  test("ends the connection when it is longer than anything should be", async () => {
    const { write, daemon, call, heard } = converse();
    await call("claim_next", { waitMs: 0 });
    await write("x".repeat(STDIO_DEFAULT_MAX_BUFFER_SIZE + 1));
    expect(heard.length).toBe(1);
    expect(daemon.callsOf("leave").length).toBe(1);
  });
});

describe("the tools", () => {
  test("each say what they take, what they answer and what they do to the world", () => {
    for (const { name, description, annotations, input, output } of TOOLS) {
      expect(name).toMatch(/^[a-z_]{1,64}$/);
      expect(description.length).toBeGreaterThan(60);
      expect(input.json).toMatchObject({ type: "object", additionalProperties: false });
      expect(output).toMatchObject({ type: "object", properties: { notices: { type: "array" } } });
      expect(Object.keys(annotations).sort()).toEqual([
        "destructiveHint",
        "idempotentHint",
        "openWorldHint",
        "readOnlyHint",
        "title",
      ]);
    }
  });

  test("are those that the scope of the server allows, in the list and in a call", async () => {
    const named = async (scope: Scope) => {
      const { ask } = await client("2025-11-25", { scope });
      const { tools } = (await ask("tools/list"))["result"] as { tools: { name: string }[] };
      return tools.map(({ name }) => name);
    };
    const [read, work, admin] = [await named("read"), await named("work"), await named("admin")];
    expect(read).toEqual(["status", "why", "events"]);
    expect(admin.filter((name) => !work.includes(name))).toEqual(["submit", "cancel", "pause", "resume"]);
    const { call, daemon } = await client("2025-11-25", { scope: "work" });
    expect((await call("submit", { text: "tasks: {}" })).content[0]?.text).toMatch(
      /^FORBIDDEN: `submit` needs the scope/,
    );
    expect(daemon.calls).toEqual([]);
  });

  test("that only read say so, and only one destroys", () => {
    const named = (hint: "readOnlyHint" | "destructiveHint") =>
      TOOLS.filter(({ annotations }) => annotations[hint]).map(({ name }) => name);
    expect(named("readOnlyHint")).toEqual(["status", "why", "events"]);
    expect(named("destructiveHint")).toEqual(["cancel"]);
  });
});
