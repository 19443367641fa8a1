import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  PROTOCOL_VERSION_META_KEY,
} from "@modelcontextprotocol/server";
import { describe, expect, test } from "vitest";
import { ManualClock } from "../../test/rig/clock.ts";
import { fakeDaemon, grant, TTL } from "../../test/rig/mcp-daemon.ts";
import type { Scope } from "../wire/scope.ts";
import { HTTP_SILENCE, openMcpHttp } from "./http.ts";

type Headers = Readonly<Record<string, string>>;
interface Message {
  readonly method?: string;
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly code: number };
}
interface Said {
  readonly status: number;
  readonly headers: Headers;
  /** What was told before the answer. */
  readonly news: readonly Message[];
  readonly body?: Message;
}
interface Rest {
  readonly method?: string;
  readonly by?: string;
  readonly signal?: AbortSignal;
  readonly scopes?: readonly Scope[];
}

/** One answer as JSON, or as a stream with what was told before it. */
async function read(response: Response): Promise<Said> {
  const { status } = response;
  const headers = Object.fromEntries(response.headers);
  const text = await response.text();
  const messages = (
    headers["content-type"]?.startsWith("text/event-stream")
      ? [...text.matchAll(/^data: (.+)$/gm)].map(([, data = ""]) => data)
      : text === ""
        ? []
        : [text]
  ).map((each) => JSON.parse(each) as Message);
  const body = messages.at(-1);
  return { status, headers, news: messages.slice(0, -1), ...(body !== undefined && { body }) };
}

function endpoint(daemon = fakeDaemon()) {
  const clock = new ManualClock();
  let ids = 0;
  const mcp = openMcpHttp({
    service: daemon.service,
    clock,
    version: "1.2.3",
    newId: () => `id-${++ids}`,
    readPlan: () => Promise.reject(new Error("unused")),
  });
  const send = async (body: unknown, headers: Headers = {}, rest: Rest = {}): Promise<Said> => {
    const { method = "POST", by = "mo", scopes = ["read", "work", "admin"], signal } = rest;
    const sent = new Request("http://rota/mcp", {
      method,
      headers: { "content-type": "application/json", accept: "application/json, text/event-stream", ...headers },
      ...(signal !== undefined && { signal }),
    });
    return await read(await mcp.handle({ request: sent, body, by, scopes }));
  };
  const open = async (headers: Headers = {}): Promise<string> => {
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "claude", version: "1" } };
    const answer = await send({ jsonrpc: "2.0", id: 0, method: "initialize", params }, headers);
    expect(answer).toMatchObject({ status: 200, body: { result: { protocolVersion: "2025-11-25" } } });
    return answer.headers["mcp-session-id"] as string;
  };
  return { mcp, clock, daemon, send, open };
}

const call = (name: string, args: object = {}, meta: object = {}) => ({
  jsonrpc: "2.0",
  id: 1,
  method: "tools/call",
  params: { name, arguments: args, _meta: meta },
});
const STATELESS = {
  [PROTOCOL_VERSION_META_KEY]: "2026-07-28",
  [CLIENT_CAPABILITIES_META_KEY]: {},
  [CLIENT_INFO_META_KEY]: { name: "codex", version: "1" },
};
const stating = (method: string, name?: string): Headers => ({
  "mcp-protocol-version": "2026-07-28",
  "mcp-method": method,
  ...(name !== undefined && { "mcp-name": name }),
});

describe("a session", () => {
  test("is opened, named by its header, and ended by DELETE", async () => {
    const { send, open } = endpoint();
    const id = await open();
    const headers = { "mcp-session-id": id };
    expect(await send(call("status"), headers)).toMatchObject({ status: 200, body: { result: { isError: false } } });
    expect(await send({ jsonrpc: "2.0", method: "notifications/initialized" }, headers)).toEqual({
      status: 202,
      headers: {},
      news: [],
    });
    expect(await send(undefined, headers, { method: "DELETE" })).toMatchObject({ status: 200 });
    expect(await send(call("status"), headers)).toMatchObject({ status: 404 });
    expect(await send(undefined, headers, { method: "DELETE" })).toMatchObject({ status: 404 });
  });

  test("is of no use to another caller", async () => {
    const { send, open } = endpoint();
    const headers = { "mcp-session-id": await open() };
    expect(await send(call("status"), headers, { by: "eve" })).toMatchObject({ status: 404 });
    expect(await send(undefined, headers, { method: "DELETE", by: "eve" })).toMatchObject({ status: 404 });
    expect(await send(call("status"), headers)).toMatchObject({ status: 200 });
  });

  test("remembers what it holds, and renews it for as long as it is heard of", async () => {
    const { send, open, clock, daemon } = endpoint();
    daemon.ready.push(grant());
    const headers = { "mcp-session-id": await open() };
    await send(call("claim_next"), headers);
    await clock.advance(TTL * 10);
    expect(daemon.callsOf("heartbeat").length).toBe(30);
    await send(call("status"), headers);
    await clock.advance(HTTP_SILENCE - 1);
    expect(await send(call("progress", { note: "here" }), headers)).toMatchObject({ status: 200 });
    await clock.advance(HTTP_SILENCE);
    const renewed = daemon.callsOf("heartbeat").length;
    await clock.advance(HTTP_SILENCE);
    expect(daemon.callsOf("heartbeat").length).toBe(renewed);
    expect(daemon.callsOf("release")).toEqual([]);
    expect(await send(call("status"), headers)).toMatchObject({ status: 404 });
  });

  test("says who the agent is, where its client was told to", async () => {
    const { send, open, daemon } = endpoint();
    const said = {
      "rota-agent": "reviewer",
      "rota-pool": "p",
      "rota-workspace": "/w",
      "rota-capabilities": "gpu, web",
    };
    await send(call("claim_next", { waitMs: 0 }), { "mcp-session-id": await open(said) });
    expect(daemon.callsOf("join")).toEqual([
      {
        name: "join",
        args: [{ agent: "reviewer", pool: "p", workspace: "/w", capabilities: ["gpu", "web"], slots: 1 }],
        by: "mo",
      },
    ]);
    const bad = { "rota-pool": "x".repeat(200) };
    const initialize = { jsonrpc: "2.0", id: 0, method: "initialize", params: {} };
    await expect(send(initialize, bad)).rejects.toMatchObject({ code: "REQUEST_INVALID" });
  });

  test("must be named, must exist, and must speak a version that is known", async () => {
    const { send, open } = endpoint();
    expect(await send(call("status"))).toMatchObject({ status: 400, body: { error: { code: -32_000 } } });
    expect(await send(call("status"), { "mcp-session-id": "none" })).toMatchObject({ status: 404 });
    const headers = { "mcp-session-id": await open(), "mcp-protocol-version": "1900-01-01" };
    expect(await send(call("status"), headers)).toMatchObject({ status: 400 });
  });

  test("is not opened by an opening that is refused", async () => {
    const { send } = endpoint();
    const refused = await send({ jsonrpc: "2.0", id: 0, method: "initialize", params: {} });
    expect(refused).toMatchObject({ status: 400, body: { error: { code: -32_000 } } });
    expect(refused.headers).not.toHaveProperty("mcp-session-id");
  });

  test("may do only what the caller's token allows", async () => {
    const { send, open, daemon } = endpoint();
    const headers = { "mcp-session-id": await open() };
    const scopes = ["read"] as const;
    expect(await send(call("status"), headers, { scopes })).toMatchObject({ body: { result: { isError: false } } });
    const refused = await send(call("submit", { text: "x", directory: "/" }), headers, { scopes });
    expect(refused.body?.result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringMatching(/^FORBIDDEN: `submit` needs the scope `admin`/) }],
    });
    expect(daemon.callsOf("submit")).toEqual([]);
  });

  test("ends a call whose client has gone, and hands back what it is given", async () => {
    let give: (task: ReturnType<typeof grant>) => void = () => undefined;
    const { send, open, daemon, clock } = endpoint(
      fakeDaemon({ claim: () => new Promise((resolve) => (give = resolve)) }),
    );
    const headers = { "mcp-session-id": await open() };
    const gone = new AbortController();
    const waiting = send(call("claim_next"), headers, { signal: gone.signal });
    await clock.settle();
    gone.abort();
    give(grant());
    await waiting;
    expect(daemon.callsOf("release").length).toBe(1);
  });

  test("hears of a call that waits before it is answered", async () => {
    const { send, open, daemon, clock } = endpoint();
    const id = await open();
    const waiting = send(call("claim_next", {}, { progressToken: 1 }), { "mcp-session-id": id });
    await clock.advance(10_000);
    daemon.waiting[0]?.give(grant());
    expect(await waiting).toMatchObject({
      news: [{ method: "notifications/progress" }],
      body: { id: 1, result: { isError: false } },
    });
  });
});

describe("a request that stands for itself", () => {
  test("is served, and remembers nothing: the lease lasts as long as a silence may", async () => {
    const { send, daemon, clock } = endpoint();
    daemon.ready.push(grant());
    const claimed = await send(call("claim_next", {}, STATELESS), stating("tools/call", "claim_next"));
    expect(claimed).toMatchObject({
      status: 200,
      body: {
        result: { resultType: "complete", structuredContent: { claimed: true, session: "s1", token: "secret-1" } },
      },
    });
    expect(claimed.headers).not.toHaveProperty("mcp-session-id");
    expect(daemon.callsOf("join")[0]?.args).toMatchObject([{ ttlMs: HTTP_SILENCE }]);
    await clock.advance(TTL * 5);
    expect(daemon.callsOf("heartbeat")).toEqual([]);
    expect(daemon.callsOf("leave")).toEqual([]);

    const headers = stating("tools/call", "complete");
    const bare = await send(call("complete", {}, STATELESS), headers);
    expect(bare.body?.result).toMatchObject({ isError: true });
    const lease = { run: "r1", task: "build", fence: 1, token: "secret-1" };
    expect((await send(call("complete", lease, STATELESS), headers)).body?.result).toMatchObject({ isError: false });
  });

  test("that was given nothing leaves no session behind", async () => {
    const { send, daemon } = endpoint();
    const asked = call("claim_next", { waitMs: 0 }, STATELESS);
    const answer = await send(asked, stating("tools/call", "claim_next"));
    expect(answer.body?.result?.["structuredContent"]).not.toHaveProperty("session");
    expect(daemon.callsOf("leave").length).toBe(1);
  });

  test.each([
    [
      "another version in its header",
      { ...stating("tools/call", "status"), "mcp-protocol-version": "2025-11-25" },
      -32_020,
    ],
    ["no version in its header", { "mcp-method": "tools/call", "mcp-name": "status" }, -32_020],
    ["another method in its header", stating("tools/list", "status"), -32_020],
    ["no name in its header", stating("tools/call"), -32_020],
    ["another name in its header", stating("tools/call", "submit"), -32_020],
  ])("with %s is refused", async (_, headers, code) => {
    const { send } = endpoint();
    expect(await send(call("status", {}, STATELESS), headers)).toMatchObject({
      status: 400,
      body: { id: 1, error: { code } },
    });
  });

  test("may wrap a name in its header", async () => {
    const { send } = endpoint();
    const wrapped = `=?base64?${Buffer.from("status").toString("base64")}?=`;
    expect(await send(call("status", {}, STATELESS), stating("tools/call", wrapped))).toMatchObject({ status: 200 });
  });

  test("is refused with the status that the specification has for it", async () => {
    const { send } = endpoint();
    const unknown = { jsonrpc: "2.0", id: 1, method: "resources/list", params: { _meta: STATELESS } };
    expect(await send(unknown, stating("resources/list"))).toMatchObject({
      status: 404,
      body: { error: { code: -32_601 } },
    });
    const old = { ...STATELESS, [PROTOCOL_VERSION_META_KEY]: "1900-01-01" };
    const headers = { ...stating("tools/call", "status"), "mcp-protocol-version": "1900-01-01" };
    expect(await send(call("status", {}, old), headers)).toMatchObject({
      status: 400,
      body: { error: { code: -32_022 } },
    });
    const bare = { jsonrpc: "2.0", id: 1, method: "tools/list" };
    expect(await send(bare, stating("tools/list"))).toMatchObject({ status: 400, body: { error: { code: -32_602 } } });
  });
});

test("other methods are refused with what there is", async () => {
  const { send } = endpoint();
  for (const method of ["GET", "PUT", "OPTIONS"])
    expect(await send(undefined, {}, { method })).toMatchObject({ status: 405, headers: { allow: "POST, DELETE" } });
});

test("closing ends every session and renews nothing any more", async () => {
  const { mcp, open, send, daemon, clock } = endpoint();
  daemon.ready.push(grant());
  await send(call("claim_next"), { "mcp-session-id": await open() });
  await mcp.close();
  await clock.advance(TTL * 3);
  expect(daemon.callsOf("heartbeat")).toEqual([]);
  expect(clock.waiting).toEqual([]);
});
