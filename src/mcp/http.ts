/**
 * MCP over HTTP, as one endpoint that takes POST. Host, origin, token and size have been checked by the server in front.
 *
 * Revisions with an opening have sessions here, named by `Mcp-Session-Id` and ended by DELETE or by silence. Later revisions have
 * none: each request stands for itself, so it names its Rota session and its lease, and leases last as long as a silence may.
 */
import type { Authority } from "../domain/authority.ts";
import { type Instant, later, type Millis, minutes } from "../domain/time.ts";
import type { Timer } from "../effects/clock.ts";
import { isMap } from "../std/schema.ts";
import type { Scope } from "../wire/scope.ts";
import type { Exchange } from "./call.ts";
import { type Answer, Connection, type ConnectionOptions } from "./connection.ts";
import { checkHeaders, type Headers, headerOf, isStatelessRequest, profileOf } from "./http-headers.ts";
import { failure, type Params, RPC, type RpcId, RpcRefusal } from "./rpc.ts";
import { checkCarried, isKnown, VERSIONS } from "./versions.ts";

export interface McpHttpOptions
  extends Omit<ConnectionOptions, "profile" | "by" | "authority" | "remembers" | "directory"> {
  /** Makes ids of sessions, which nobody must guess. */
  readonly newId: () => string;
}

export interface McpRequest {
  readonly method: string;
  /** By their names in lower case. */
  readonly headers: Headers;
  /** The parsed JSON of a POST. */
  readonly body?: unknown;
  /** Who calls. A session belongs to whoever opened it. */
  readonly by: string;
  /** For which of the daemon's sessions the caller may act. */
  readonly authority?: Authority;
  /** Aborted when the client has gone: then nobody can be given the answer, so the call ends too. */
  readonly signal: AbortSignal;
  readonly allows?: (scope: Scope) => boolean;
  /** Begins an answer of several messages, where the client takes one, and gives what sends them. */
  readonly stream?: (headers: Readonly<Record<string, string>>) => (message: object) => void;
}

/** `streamed`: the answer has gone out already, and only has to be ended. */
export type McpResponse =
  | { readonly status: number; readonly headers: Readonly<Record<string, string>>; readonly body?: object }
  | { readonly streamed: true };

export interface McpHttp {
  /** Answers one HTTP request. Never throws. */
  handle(request: McpRequest): Promise<McpResponse>;
  /** Ends every session. What they hold is left to its lease. */
  close(): Promise<void>;
}

interface Session {
  readonly connection: Connection;
  readonly by: string;
  calls: number;
  heardAt: Instant;
  timer?: Timer;
}

/** How long a client may say nothing before it counts as gone: longer than the longest wait. */
export const HTTP_SILENCE: Millis = minutes(15);
const SESSIONS_MAX = 1_000;
const SESSION = "mcp-session-id";
const EVENT_STREAM = "text/event-stream";

export function openMcpHttp(options: McpHttpOptions): McpHttp {
  const { clock, newId, silence = HTTP_SILENCE } = options;
  const sessions = new Map<string, Session>();

  const connect = ({ by, authority, headers }: McpRequest, remembers: boolean): Connection => {
    const acting = authority === undefined ? {} : { authority };
    return new Connection({ ...options, by, ...acting, profile: profileOf(headers), silence, remembers });
  };

  const end = async (id: string): Promise<void> => {
    const session = sessions.get(id);
    sessions.delete(id);
    session?.timer?.cancel();
    await session?.connection.close();
  };

  const watch = (id: string, session: Session): void => {
    session.timer?.cancel();
    session.timer = clock.at(later(session.heardAt, silence), () => {
      if (session.calls === 0) void end(id);
    });
  };

  const hear = async <T>(id: string, session: Session, work: () => Promise<T>): Promise<T> => {
    session.calls++;
    try {
      return await work();
    } finally {
      session.calls--;
      session.heardAt = clock.now();
      if (sessions.has(id)) watch(id, session);
    }
  };

  /** Each request by itself: what it needs is in it. */
  const serveStateless = async (request: McpRequest): Promise<McpResponse> => {
    const refusal = refusedBy(() => {
      const params = paramsOf(request.body);
      checkCarried(params);
      checkHeaders(request.headers, methodOf(request.body), params);
    }, request.body);
    if (refusal !== undefined) return refusal;
    const connection = connect(request, false);
    try {
      return await exchange(connection, request);
    } finally {
      await connection.close();
    }
  };

  const open = async (request: McpRequest): Promise<McpResponse> => {
    if (sessions.size >= SESSIONS_MAX) return refuse(503, RPC.fault, "Too many sessions are open.");
    const connection = connect(request, true);
    const response = await exchange(connection, request);
    if ("streamed" in response || response.body === undefined || "error" in response.body) {
      await connection.close();
      return response;
    }
    const id = newId();
    const session: Session = { connection, by: request.by, calls: 0, heardAt: clock.now() };
    sessions.set(id, session);
    watch(id, session);
    return { ...response, headers: { ...response.headers, [SESSION]: id } };
  };

  const serveSession = async (request: McpRequest): Promise<McpResponse> => {
    const version = headerOf(request.headers, "mcp-protocol-version");
    if (version !== undefined && !isKnown(version))
      return refuse(400, RPC.version, "Unsupported protocol version", { supported: VERSIONS, requested: version });
    const id = headerOf(request.headers, SESSION);
    if (id === undefined)
      return methodOf(request.body) === "initialize" ? await open(request) : refuse(400, RPC.request, NO_SESSION);
    const session = sessions.get(id);
    // Somebody else's session is as unknown as one that never was.
    if (session === undefined || session.by !== request.by)
      return refuse(404, RPC.request, "There is no such session.");
    return await hear(id, session, () => exchange(session.connection, request));
  };

  const endSession = async ({ headers, by }: McpRequest): Promise<McpResponse> => {
    const id = headerOf(headers, SESSION);
    if (id === undefined) return refuse(400, RPC.request, NO_SESSION);
    if (sessions.get(id)?.by !== by) return refuse(404, RPC.request, "There is no such session.");
    await end(id);
    return { status: 204, headers: {} };
  };

  const serve = async (request: McpRequest): Promise<McpResponse> => {
    if (request.method === "DELETE") return await endSession(request);
    if (request.method !== "POST")
      return { status: 405, headers: { allow: "POST, DELETE" }, body: failure(null, RPC.request, "Use POST.") };
    return isStatelessRequest(request.headers, paramsOf(request.body))
      ? await serveStateless(request)
      : await serveSession(request);
  };

  return {
    async handle(request) {
      try {
        return await serve(request);
      } catch (error) {
        if (error instanceof RpcRefusal) return refuse(400, error.code, error.message, error.data);
        options.onFault?.(error);
        return refuse(500, RPC.fault, "Something is wrong with Rota itself.");
      }
    },
    async close() {
      await Promise.all([...sessions.keys()].map(end));
    },
  };
}

const NO_SESSION = "Name the session in `Mcp-Session-Id`, or open one with `initialize`.";

/** One message in, one answer out: as JSON, or as a stream if something was told before it and the client takes streams. */
async function exchange(connection: Connection, request: McpRequest): Promise<McpResponse> {
  let write: ((message: object) => void) | undefined;
  const { stream, signal, allows } = request;
  const takesStream = stream !== undefined && (headerOf(request.headers, "accept")?.includes(EVENT_STREAM) ?? false);
  const send: Exchange["send"] = (news) => {
    write ??= stream?.({ "content-type": EVENT_STREAM, "cache-control": "no-store", "x-accel-buffering": "no" });
    write?.(news);
  };
  const answer = await connection.receive(request.body, {
    signal,
    ...(allows !== undefined && { allows }),
    ...(takesStream && { send }),
  });
  if (write !== undefined) {
    if (answer !== undefined) write(answer);
    return { streamed: true };
  }
  return answer === undefined
    ? { status: 202, headers: {} }
    : { status: statusOf(answer), headers: JSON_TYPE, body: answer };
}

const JSON_TYPE = { "content-type": "application/json" };

/** A request that was understood is answered with 200, whatever the answer says; the exceptions are the specification's. */
function statusOf(answer: Answer): number {
  if (!("error" in answer)) return 200;
  if (answer.error.code === RPC.method) return 404;
  return answer.error.code === RPC.request || answer.error.code === RPC.parse ? 400 : 200;
}

function refusedBy(check: () => void, body: unknown): McpResponse | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    if (!(error instanceof RpcRefusal)) throw error;
    const id = isMap(body) ? body["id"] : undefined;
    return refuse(
      400,
      error.code,
      error.message,
      error.data,
      typeof id === "string" || typeof id === "number" ? id : null,
    );
  }
}

const refuse = (
  status: number,
  code: number,
  message: string,
  data?: unknown,
  id: RpcId | null = null,
): McpResponse => ({
  status,
  headers: JSON_TYPE,
  body: failure(id, code, message, data),
});

const paramsOf = (body: unknown): Params => (isMap(body) && isMap(body["params"]) ? body["params"] : {});
const methodOf = (body: unknown): unknown => (isMap(body) ? body["method"] : undefined);
