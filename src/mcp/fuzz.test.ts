/** Whatever is sent: nothing crashes, every request is answered exactly once, and nothing else is. */
import { PassThrough } from "node:stream";
import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  PROTOCOL_VERSION_META_KEY,
  SUPPORTED_PROTOCOL_VERSIONS,
} from "@modelcontextprotocol/server";
import fc from "fast-check";
import { expect, test } from "vitest";
import { ManualClock } from "../../test/rig/clock.ts";
import { fakeDaemon, grant } from "../../test/rig/mcp-daemon.ts";
import { always } from "../../test/rig/property.ts";
import { UserError } from "../domain/errors.ts";
import { openMcpHttp } from "./http.ts";
import { serveStdio } from "./stdio.ts";
import { TOOLS } from "./tools.ts";

const VERSIONS = ["2026-07-28", ...SUPPORTED_PROTOCOL_VERSIONS];

const anyName = fc.constantFrom(
  "task",
  "run",
  "fence",
  "token",
  "waitMs",
  "text",
  "path",
  "key",
  "note",
  "limit",
  "__proto__",
);
const someArguments = fc.dictionary(anyName, fc.oneof(fc.string(), fc.integer(), fc.jsonValue()), {
  noNullPrototype: true,
});
const method = fc.oneof(
  fc.constantFrom("initialize", "ping", "tools/list", "tools/call", "server/discover", "toString", "constructor"),
  fc.string(),
);
const meta = fc.oneof(
  fc.constant({}),
  fc.record({
    [PROTOCOL_VERSION_META_KEY]: fc.constantFrom(...VERSIONS, "x"),
    [CLIENT_CAPABILITIES_META_KEY]: fc.constant({}),
    [CLIENT_INFO_META_KEY]: fc.record({ name: fc.string(), version: fc.string() }),
    progressToken: fc.oneof(fc.string(), fc.integer()),
  }),
);
const params = fc.record(
  {
    name: fc.oneof(fc.constantFrom(...TOOLS.map(({ name }) => name)), fc.jsonValue()),
    arguments: fc.oneof(someArguments, fc.jsonValue()),
    protocolVersion: fc.oneof(fc.constantFrom(...VERSIONS), fc.jsonValue()),
    clientInfo: fc.oneof(fc.record({ name: fc.string({ unit: "binary" }) }), fc.jsonValue()),
    cursor: fc.jsonValue(),
    _meta: meta,
  },
  { requiredKeys: [] },
);
const request = fc.record({ jsonrpc: fc.constant("2.0"), method, params }, { requiredKeys: ["jsonrpc", "method"] });
const notification = fc.record({
  jsonrpc: fc.constant("2.0"),
  method: fc.oneof(fc.constant("notifications/initialized"), fc.string()),
  params: fc.jsonValue(),
});
const rubbish = fc.oneof(
  fc.jsonValue(),
  fc.record(
    { jsonrpc: fc.oneof(fc.constant("2.0"), fc.jsonValue()), id: fc.jsonValue(), method: fc.jsonValue(), params },
    { requiredKeys: [] },
  ),
);
const message = fc.oneof(
  request.map((said) => ({ kind: "request" as const, said })),
  notification.map((said) => ({ kind: "notification" as const, said })),
  rubbish.map((said) => ({ kind: "rubbish" as const, said })),
);

/** Answers at once to everything, so that nothing waits when a case is over. */
function quickDaemon() {
  const daemon = fakeDaemon({ claim: async () => grant(), assignment: async () => undefined });
  return daemon.service;
}
const deps = () => ({
  service: quickDaemon(),
  clock: new ManualClock(),
  version: "0",
  readPlan: () => Promise.reject(new Error("no such file")),
});
/** A plan that cannot be read is the only fault a daemon like this one can cause. */
const isNoPlan = (error: unknown): boolean => error instanceof Error && error.message === "no such file";

test("over stdio", async () => {
  await always(
    400,
    fc.asyncProperty(fc.array(message, { maxLength: 20 }), fc.boolean(), async (messages, opens) => {
      const [faults, input, output]: [unknown[], PassThrough, PassThrough] = [[], new PassThrough(), new PassThrough()];
      const { clock, ...rest } = deps();
      const served = serveStdio({ ...rest, clock, input, output, onFault: (error) => faults.push(error) });
      const opening = { protocolVersion: "x", capabilities: {}, clientInfo: { name: "n", version: "1" } };
      const said = messages.map((each, at) => (each.kind === "request" ? { ...each.said, id: `q${at}` } : each.said));
      const all = [
        ...(opens ? [{ jsonrpc: "2.0", id: "o", method: "initialize", params: opening }] : []),
        ...said,
        { jsonrpc: "2.0", id: "last", method: "tools/list" },
      ];
      input.end(all.map((each) => `${JSON.stringify(each)}\n`).join(""));
      for (let turn = 0; turn < 20; turn++) await clock.settle();
      await clock.advance(10_000);
      await served;
      const answers = ((output.read() as Buffer | null)?.toString() ?? "")
        .split("\n")
        .filter(Boolean)
        .map((line) => JSON.parse(line) as Record<string, unknown>);
      for (const [at, { kind }] of messages.entries()) {
        const mine = answers.filter(({ id }) => id === `q${at}`);
        expect([at, mine.length]).toEqual([at, kind === "request" ? 1 : 0]);
        if (kind === "request") expect("result" in (mine[0] ?? {})).not.toBe("error" in (mine[0] ?? {}));
      }
      expect(answers.filter(({ id }) => id === "last").length).toBe(1);
      expect(faults.filter((error) => !isNoPlan(error))).toEqual([]);
    }),
  );
});

/** Headers of ours that say nothing are refused by the server in front. */
const refused = (error: unknown): Response => {
  if (error instanceof UserError) return new Response(null, { status: 400 });
  throw error;
};

test("over HTTP", async () => {
  const header = fc.oneof(
    fc.constantFrom(...VERSIONS, "tools/call", "id-1", "application/json, text/event-stream"),
    fc.string({ unit: "grapheme-ascii" }),
  );
  const names = [
    "mcp-protocol-version",
    "mcp-session-id",
    "mcp-method",
    "mcp-name",
    "accept",
    "content-type",
    "rota-pool",
    "rota-capabilities",
  ];
  const headers = fc.dictionary(fc.constantFrom(...names), header, { noNullPrototype: true });
  await always(
    400,
    fc.asyncProperty(
      fc.array(fc.tuple(fc.constantFrom("POST", "POST", "POST", "GET", "DELETE", "PUT"), headers, message), {
        maxLength: 8,
      }),
      async (requests) => {
        const faults: unknown[] = [];
        let ids = 0;
        const mcp = openMcpHttp({ ...deps(), newId: () => `id-${++ids}`, onFault: (error) => faults.push(error) });
        for (const [method, sent, { said, kind }] of requests) {
          const body = kind === "request" ? { ...said, id: 1 } : said;
          const asked = new Request("http://rota/mcp", { method, headers: sent });
          const response = await mcp.handle({ request: asked, body, by: "mo", scopes: ["admin"] }).catch(refused);
          expect([200, 202, 400, 404, 405, 406, 415]).toContain(response.status);
          await response.text();
        }
        expect(faults.filter((error) => !isNoPlan(error))).toEqual([]);
        await mcp.close();
      },
    ),
  );
});
