/** Whatever is sent: nothing crashes, every request is answered exactly once, and nothing else is. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { ManualClock } from "../../test/rig/clock.ts";
import { fakeDaemon, grant } from "../../test/rig/mcp-daemon.ts";
import { always } from "../../test/rig/property.ts";
import { Connection } from "./connection.ts";
import { openMcpHttp } from "./http.ts";
import { TOOLS } from "./tools.ts";
import { META, VERSIONS } from "./versions.ts";

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
  fc.jsonValue(),
  fc.record({
    [META.version]: fc.constantFrom(...VERSIONS, "x"),
    [META.clientCapabilities]: fc.constant({}),
    [META.clientInfo]: fc.record({ name: fc.string() }),
    progressToken: fc.oneof(fc.string(), fc.integer(), fc.jsonValue()),
  }),
);
const params = fc.oneof(
  fc.jsonValue(),
  fc.record(
    {
      name: fc.oneof(fc.constantFrom(...TOOLS.map(({ name }) => name)), fc.jsonValue()),
      arguments: fc.oneof(someArguments, fc.jsonValue()),
      protocolVersion: fc.oneof(fc.constantFrom(...VERSIONS), fc.jsonValue()),
      clientInfo: fc.oneof(fc.record({ name: fc.string({ unit: "binary" }) }), fc.jsonValue()),
      cursor: fc.jsonValue(),
      _meta: meta,
    },
    { requiredKeys: [] },
  ),
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

test("over a connection", async () => {
  await always(
    400,
    fc.asyncProperty(fc.array(message, { maxLength: 20 }), fc.boolean(), async (messages, opens) => {
      const faults: unknown[] = [];
      const connection = new Connection({ ...deps(), onFault: (error) => faults.push(error) });
      if (opens)
        await connection.receive({ jsonrpc: "2.0", id: "o", method: "initialize", params: { protocolVersion: "x" } });
      await Promise.all(
        messages.map(async ({ kind, said }, at) => {
          const answer = await connection.receive(kind === "request" ? { ...said, id: `q${at}` } : said);
          JSON.stringify(answer);
          if (kind === "request") expect(answer).toMatchObject({ jsonrpc: "2.0", id: `q${at}` });
          if (kind === "request") expect("result" in (answer ?? {})).not.toBe("error" in (answer ?? {}));
          if (kind === "notification") expect(answer).toBeUndefined();
        }),
      );
      // A plan that cannot be read is the only fault a daemon like this one can cause.
      expect(faults.filter((error) => !(error instanceof Error && error.message === "no such file"))).toEqual([]);
      await connection.close();
    }),
  );
});

test("over HTTP", async () => {
  const header = fc.oneof(fc.constantFrom(...VERSIONS, "tools/call", "id-1", "application/json"), fc.string());
  const names = [
    "mcp-protocol-version",
    "mcp-session-id",
    "mcp-method",
    "mcp-name",
    "accept",
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
          const response = await mcp.handle({
            method,
            headers: sent,
            body,
            by: "mo",
            signal: new AbortController().signal,
          });
          if ("streamed" in response) throw new Error("nothing can be streamed here");
          expect([200, 202, 204, 400, 404, 405]).toContain(response.status);
          if (response.status === 200) expect(response.body).toBeDefined();
        }
        expect(faults.filter((error) => !(error instanceof Error && error.message === "no such file"))).toEqual([]);
        await mcp.close();
      },
    ),
  );
});
