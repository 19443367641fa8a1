/** The MCP endpoint as the daemon's HTTP server takes it. What speaks the protocol is loaded with the first request. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { SCOPES, type Scope } from "../wire/scope.ts";
import type { Caller } from "../wire/service.ts";
import type { McpHttp, McpHttpOptions } from "./http.ts";

/** One request with its response, after the server's checks. */
interface HttpExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly body: unknown;
  readonly caller: Caller & { readonly signal: AbortSignal };
  readonly allows: (scope: Scope) => boolean;
}

export function mcpMount(options: McpHttpOptions) {
  let opened: Promise<McpHttp> | undefined;
  const open = async (): Promise<McpHttp> => (await import("./http.ts")).openMcpHttp(options);
  return {
    path: "/mcp",
    // GET is answered too: with the refusal that clients expect.
    methods: ["POST", "DELETE", "GET"],
    scope: "read" as const,
    async handle({ request, response, body, caller, allows }: HttpExchange): Promise<void> {
      opened ??= open();
      const answer = await (await opened).handle({
        request: webRequest(request, caller.signal),
        body,
        by: caller.by,
        ...(caller.authority !== undefined && { authority: caller.authority }),
        scopes: SCOPES.filter(allows),
      });
      response.writeHead(answer.status, Object.fromEntries(answer.headers));
      if (answer.body === null) return void response.end();
      // A client that goes away ends the answer, which is how the library hears of it.
      await pipeline(Readable.fromWeb(answer.body), response).catch(() => undefined);
    },
    async close(): Promise<void> {
      await (await opened)?.close();
    },
  };
}

/** As the library takes requests. The body has been read, and goes beside it. */
function webRequest({ method = "GET", rawHeaders }: IncomingMessage, signal: AbortSignal): Request {
  const headers = new Headers();
  for (let at = 0; at + 1 < rawHeaders.length; at += 2)
    headers.append(rawHeaders[at] as string, rawHeaders[at + 1] as string);
  return new Request("http://rota/mcp", { method, headers, signal });
}
