import { describe, expect, test } from "vitest";
import { converse } from "../../test/rig/mcp.ts";
import { LINE_MAX } from "./stdio.ts";
import { TOOLS } from "./tools.ts";
import { META } from "./versions.ts";

const STATELESS = { [META.version]: "2026-07-28", [META.clientCapabilities]: {}, [META.clientInfo]: { name: "codex" } };

describe("the opening", () => {
  test.each(["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"])("agrees on %s", async (version) => {
    const answer = await converse().open(version);
    expect(answer).toMatchObject({
      jsonrpc: "2.0",
      result: {
        protocolVersion: version,
        capabilities: { tools: {} },
        serverInfo: { name: "rota", title: "Rota", version: "1.2.3" },
        instructions: expect.stringContaining("claim_next"),
      },
    });
  });

  test.each(["1900-01-01", "2026-07-28", ""])(
    "offers the newest it has to a client that asks for %j",
    async (version) => {
      expect(await converse().open(version)).toMatchObject({ result: { protocolVersion: "2025-11-25" } });
    },
  );

  test("is refused without a version", async () => {
    expect(await converse().ask("initialize", {})).toMatchObject({ error: { code: -32_602 } });
  });

  test("must come first, except for ping", async () => {
    const client = converse();
    expect(await client.ask("tools/list")).toMatchObject({ error: { code: -32_602 } });
    expect(await client.ask("ping")).toMatchObject({ result: {} });
    await client.open();
    expect(await client.ask("tools/list")).toMatchObject({ result: { tools: expect.any(Array) } });
  });
});

describe("a request that stands for itself", () => {
  test("is served without an opening, and its answer says so", async () => {
    const answer = await converse().ask("tools/list", { _meta: STATELESS });
    expect(answer["result"]).toMatchObject({
      resultType: "complete",
      tools: expect.any(Array),
      ttlMs: expect.any(Number),
      cacheScope: "public",
      _meta: { [META.serverInfo]: { name: "rota" } },
    });
  });

  test("may ask what the server is", async () => {
    const answer = await converse().ask("server/discover", { _meta: STATELESS });
    expect(answer["result"]).toMatchObject({
      resultType: "complete",
      supportedVersions: ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"],
      capabilities: { tools: {} },
      instructions: expect.any(String),
    });
  });

  test("names the agent as its client calls itself", async () => {
    const client = converse();
    await client.call("claim_next", { waitMs: 0 }, STATELESS);
    expect(client.daemon.callsOf("join")[0]?.args).toEqual([{ agent: "codex", capabilities: [], slots: 1 }]);
  });

  test.each([
    ["of an unknown version", { ...STATELESS, [META.version]: "1900-01-01" }, -32_022],
    ["whose version is no text", { ...STATELESS, [META.version]: 7 }, -32_602],
    ["without capabilities", { [META.version]: "2026-07-28" }, -32_602],
  ])("%s is refused", async (_, meta, code) => {
    expect(await converse().ask("tools/list", { _meta: meta })).toMatchObject({ error: { code } });
  });

  test("has no ping, which went with the opening", async () => {
    expect(await converse().ask("ping", { _meta: STATELESS })).toMatchObject({ error: { code: -32_601 } });
  });
});

describe("what is no request", () => {
  test("is told apart from one that cannot be read", async () => {
    const client = converse();
    await client.write("{nonsense");
    await client.write("42");
    await client.send({ id: 1, method: "ping" });
    await client.send({ jsonrpc: "2.0", id: null, method: "ping" });
    await client.send({ jsonrpc: "2.0", id: 2 });
    await client.send({ jsonrpc: "2.0", id: 3, method: "ping", params: [1] });
    expect(client.heard.map(({ id, error }) => [id, (error as { code: number }).code])).toEqual([
      [null, -32_700],
      [null, -32_600],
      [1, -32_600],
      [null, -32_600],
      [2, -32_600],
      [3, -32_602],
    ]);
  });

  test("is passed over in silence where nobody waits: notifications, answers, empty lines", async () => {
    const client = converse();
    await client.write("");
    await client.write("   ");
    await client.send({ jsonrpc: "2.0", method: "notifications/initialized" });
    await client.send({ jsonrpc: "2.0", method: "notifications/unheard-of", params: 7 });
    await client.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 99 } });
    await client.send({ jsonrpc: "2.0", id: 9, result: {} });
    expect(client.heard).toEqual([]);
  });

  test("is refused when it is too long, and what follows is still read", async () => {
    const client = converse();
    await client.write("x".repeat(LINE_MAX + 1));
    expect(client.heard).toMatchObject([{ id: null, error: { code: -32_700 } }]);
    expect(await client.ask("ping")).toMatchObject({ result: {} });
  });
});

describe("a batch", () => {
  const ping = (id: number) => ({ jsonrpc: "2.0", id, method: "ping" });

  test("is answered as one where the version has them", async () => {
    const client = converse();
    await client.open("2025-03-26");
    client.heard.length = 0;
    await client.send([ping(7), { jsonrpc: "2.0", method: "notifications/initialized" }, ping(8), 5]);
    expect(client.heard).toEqual([
      [
        { jsonrpc: "2.0", id: 7, result: {} },
        { jsonrpc: "2.0", id: 8, result: {} },
        { jsonrpc: "2.0", id: null, error: { code: -32_600, message: "A message is a JSON object." } },
      ],
    ]);
  });

  test("is refused by every other version, and when it is empty", async () => {
    for (const version of ["2025-11-25", "2025-06-18", "2024-11-05"]) {
      const client = converse();
      await client.open(version);
      await client.send([ping(7)]);
      expect(client.heard.at(-1)).toMatchObject({ id: null, error: { code: -32_600 } });
    }
    const client = converse();
    await client.open("2025-03-26");
    await client.send([]);
    expect(client.heard.at(-1)).toMatchObject({ id: null, error: { code: -32_600 } });
  });
});

describe("methods", () => {
  test("that are not known are refused as such", async () => {
    const client = converse();
    await client.open();
    for (const method of ["resources/list", "prompts/list", "logging/setLevel", "__proto__", "constructor"])
      expect(await client.ask(method)).toMatchObject({ error: { code: -32_601 } });
  });

  test("list the tools, all at once", async () => {
    const client = converse();
    await client.open();
    const answer = await client.ask("tools/list");
    expect((answer["result"] as { tools: { name: string }[] }).tools.map(({ name }) => name)).toEqual(
      TOOLS.map(({ name }) => name),
    );
    expect(answer["result"]).not.toHaveProperty("nextCursor");
    expect(await client.ask("tools/list", { cursor: "2" })).toMatchObject({ error: { code: -32_602 } });
  });

  test.each([
    ["an unknown tool", { name: "approve" }],
    ["no tool", {}],
    ["something that cannot be told", { name: { toString: 5 } }],
    ["a key of the language", { name: "__proto__" }],
    ["arguments that are no object", { name: "status", arguments: [1] }],
  ])("refuse a call of %s", async (_, params) => {
    const client = converse();
    await client.open();
    expect(await client.ask("tools/call", params)).toMatchObject({ error: { code: -32_602 } });
  });

  test("refuse a second request with an id that is still being answered", async () => {
    const client = converse();
    await client.open();
    const id = await client.begin("claim_next");
    await client.send({ jsonrpc: "2.0", id, method: "ping" });
    expect(client.answerTo(id)).toMatchObject({ error: { code: -32_600 } });
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

  test("that only read say so, and only one destroys", () => {
    const named = (hint: "readOnlyHint" | "destructiveHint") =>
      TOOLS.filter(({ annotations }) => annotations[hint]).map(({ name }) => name);
    expect(named("readOnlyHint")).toEqual(["status", "why", "events"]);
    expect(named("destructiveHint")).toEqual(["cancel"]);
  });
});
