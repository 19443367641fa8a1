/** The MCP endpoint as the daemon's HTTP server takes it: `mounts: [mcpMount(openMcpHttp(…))]`. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Scope } from "../wire/scope.ts";
import type { Caller } from "../wire/service.ts";
import type { McpHttp } from "./http.ts";

/** One request with its response, after the server's checks. */
interface HttpExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly body: unknown;
  readonly caller: Caller & { readonly signal: AbortSignal };
  allows(scope: Scope): boolean;
}

export const mcpMount = (mcp: McpHttp) => ({
  path: "/mcp",
  // GET is answered too: with the refusal that clients expect.
  methods: ["POST", "DELETE", "GET"],
  scope: "read" as const,
  async handle(exchange: HttpExchange): Promise<void> {
    const { request, response, body, caller } = exchange;
    const answer = await mcp.handle({
      method: request.method ?? "GET",
      headers: request.headers,
      body,
      by: caller.by,
      ...(caller.authority !== undefined && { authority: caller.authority }),
      signal: caller.signal,
      allows: (scope) => exchange.allows(scope),
      stream: (headers) => {
        response.writeHead(200, headers);
        return (message) => void response.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
      },
    });
    if (!("streamed" in answer)) {
      response.writeHead(answer.status, answer.headers);
      if (answer.body !== undefined) response.write(JSON.stringify(answer.body));
    }
    response.end();
  },
});
