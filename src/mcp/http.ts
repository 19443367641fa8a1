/**
 * MCP over HTTP, as one endpoint that takes POST. Host, origin, token and size have been checked by the server in front; how messages are
 * read, answered and streamed is the library's.
 *
 * Revisions with an opening have sessions here, named by `Mcp-Session-Id` and ended by DELETE or by silence. Later revisions have
 * none: each request stands for itself, so it names its Rota session and its lease, and leases last as long as a silence may.
 */
import {
  type AuthInfo,
  createMcpHandler,
  isLegacyRequest,
  WebStandardStreamableHTTPServerTransport as SessionTransport,
} from "@modelcontextprotocol/server";
import type { Authority } from "../domain/authority.ts";
import { type Instant, later, type Millis, minutes } from "../domain/time.ts";
import type { Timer } from "../effects/clock.ts";
import type { Scope } from "../wire/scope.ts";
import { Connection, type ConnectionOptions } from "./connection.ts";
import { withArguments } from "./given.ts";
import { profileOf } from "./profile.ts";

export interface McpHttpOptions
  extends Omit<ConnectionOptions, "profile" | "by" | "authority" | "remembers" | "directory"> {
  /** Makes ids of sessions, which no caller may guess. */
  readonly newId: () => string;
}

export interface McpRequest {
  /** Its signal is aborted when the client has gone: then the answer has no reader, so the call ends too. */
  readonly request: Request;
  /** The parsed JSON of a POST. */
  readonly body?: unknown;
  /** The caller. A session belongs to the caller that opened it. */
  readonly by: string;
  /** For which of the daemon's sessions the caller may act. */
  readonly authority?: Authority;
  /** What the caller's token allows. */
  readonly scopes: readonly Scope[];
}

export interface McpHttp {
  /** Throws a `UserError` for headers of ours that say nothing. */
  handle(request: McpRequest): Promise<Response>;
  /** Ends every session. What they hold is left to its lease. */
  close(): Promise<void>;
}

interface Session {
  readonly connection: Connection;
  readonly transport: SessionTransport;
  readonly by: string;
  heardAt: Instant;
  timer?: Timer;
}

/** How long a client may say nothing before it counts as gone: longer than the longest wait. */
export const HTTP_SILENCE: Millis = minutes(15);
const SESSIONS_MAX = 1_000;
const SESSION = "mcp-session-id";

export function openMcpHttp(options: McpHttpOptions): McpHttp {
  const { clock, newId, silence = HTTP_SILENCE } = options;
  const sessions = new Map<string, Session>();

  const connect = ({ by, authority, request }: Omit<McpRequest, "scopes">, remembers: boolean): Connection => {
    const acting = authority === undefined ? {} : { authority };
    return new Connection({ ...options, by, ...acting, profile: profileOf(request.headers), silence, remembers });
  };

  const stateless = createMcpHandler(
    ({ authInfo, requestInfo }) => {
      const connection = connect({ ...(authInfo?.extra as Who), request: requestInfo as Request }, false);
      const server = connection.server();
      server.onclose = () => void connection.idle().then(() => connection.close());
      return server;
    },
    { legacy: "reject" },
  );

  const end = async (id: string): Promise<void> => {
    const session = sessions.get(id);
    sessions.delete(id);
    session?.timer?.cancel();
    await session?.transport.close();
    await session?.connection.idle();
    await session?.connection.close();
  };

  const watch = (id: string, session: Session): void => {
    session.timer?.cancel();
    session.timer = clock.at(later(session.heardAt, silence), () => {
      if (session.connection.calls === 0) return void end(id);
      session.heardAt = clock.now();
      watch(id, session);
    });
  };

  const open = async (request: McpRequest): Promise<Response> => {
    if (sessions.size >= SESSIONS_MAX) return refuse(503, "Too many sessions are open.");
    const connection = connect(request, true);
    const transport = new SessionTransport({
      sessionIdGenerator: newId,
      onsessioninitialized: (id) => {
        const session: Session = { connection, transport, by: request.by, heardAt: clock.now() };
        sessions.set(id, session);
        watch(id, session);
      },
      onsessionclosed: end,
    });
    const server = connection.server();
    await server.connect(transport);
    const response = await pass(transport, request);
    if (transport.sessionId === undefined) await server.close();
    return response;
  };

  const serveSession = async (request: McpRequest): Promise<Response> => {
    const { method, headers } = request.request;
    if (method !== "POST" && method !== "DELETE")
      return new Response(null, { status: 405, headers: { allow: METHODS } });
    const id = headers.get(SESSION);
    if (id === null) return method === "POST" ? await open(request) : refuse(400, NO_SESSION);
    const session = sessions.get(id);
    // Another caller's session is as unknown as a session that never was.
    if (session === undefined || session.by !== request.by) return refuse(404, "There is no such session.");
    session.heardAt = clock.now();
    watch(id, session);
    return await pass(session.transport, request);
  };

  return {
    async handle(asked) {
      // What they say is used where a session or a request begins, but what cannot be understood is refused wherever it stands.
      profileOf(asked.request.headers);
      const request = { ...asked, body: withArguments(asked.body) };
      return (await isLegacyRequest(request.request, request.body))
        ? await serveSession(request)
        : await stateless.fetch(request.request, taken(request));
    },
    async close() {
      await stateless.close();
      await Promise.all([...sessions.keys()].map(end));
    },
  };
}

type Who = Pick<McpRequest, "by" | "authority">;

const METHODS = "POST, DELETE";
const NO_SESSION = "Name the session in `Mcp-Session-Id`, or open one with `initialize`.";

const pass = (transport: SessionTransport, request: McpRequest): Promise<Response> =>
  transport.handleRequest(request.request, taken(request));

/** What the library hands on: the body that was read already, and who was let in. The library does not need the token itself. */
function taken({ body, by, authority, scopes }: McpRequest): {
  readonly parsedBody: unknown;
  readonly authInfo: AuthInfo;
} {
  const who: Who = { by, ...(authority !== undefined && { authority }) };
  return { parsedBody: body, authInfo: { token: "", clientId: by, scopes: [...scopes], extra: { ...who } } };
}

const refuse = (status: number, message: string): Response =>
  Response.json({ jsonrpc: "2.0", id: null, error: { code: -32_000, message } }, { status });
