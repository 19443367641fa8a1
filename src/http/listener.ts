/** One listener of the API: it hands over requests and line connections, refuses what is no request, and ends in good order. */
import type { Server as HttpServer } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { UserError } from "../domain/errors.ts";
import { later, millis } from "../domain/time.ts";
import { createServer } from "../wire/node-http.ts";
import type { Authenticator } from "./authentication.ts";
import { handle, type ServerContext } from "./exchange.ts";
import { acceptLines, asksForLines } from "./line-connection.ts";
import { writeRefusal } from "./refusal.ts";

/** Before 24.9, Node would hand over every request with an `upgrade` header, also those that only offer another protocol and then get no answer. */
const [MAJOR = 0, MINOR = 0] = process.versions.node.split(".").map(Number);
const MAY_CHOOSE = MAJOR > 24 || MINOR >= 9;

/** A listener that answers, but does not yet listen. */
export function listener(context: ServerContext, authenticator: Authenticator, connections: number): HttpServer {
  const { limits } = context;
  const server = createServer({
    headersTimeout: limits.headersMs,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.idleMs,
    connectionsCheckingInterval: limits.checkMs,
    // A request that only offers to speak another protocol is answered as a plain request.
    shouldUpgradeCallback: asksForLines,
  });
  server.maxConnections = connections;
  server.on("request", (request, response) => handle(context, authenticator, request, response));
  server.on("checkContinue", (request, response) => handle(context, authenticator, request, response, true));
  if (MAY_CHOOSE)
    server.on("upgrade", (request, socket, head) =>
      acceptLines(context, authenticator, request, socket as Socket, head),
    );
  server.on("clientError", refuseGarbled);
  return server;
}

/** Bytes that could not be read as a request. */
function refuseGarbled(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable || error.code === "ECONNRESET") return void socket.destroy();
  writeRefusal(socket, ...garbled(error.code));
}

function garbled(code: string | undefined): readonly [UserError, number?] {
  if (code === "ERR_HTTP_REQUEST_TIMEOUT")
    return [new UserError("REQUEST_SLOW", "The request took too long to arrive")];
  if (code === "HPE_HEADER_OVERFLOW") return [new UserError("REQUEST_TOO_LARGE", "The headers are too large"), 431];
  return [new UserError("REQUEST_INVALID", "This is not HTTP")];
}

/** Takes no more connections, lets calls in progress finish, and ends them after a while. */
export async function closeListener(
  server: HttpServer,
  { clock, limits, lineConnections }: ServerContext,
): Promise<void> {
  const closed = new Promise<void>((resolve) => void server.close(() => resolve()));
  server.closeIdleConnections();
  const alarm = clock.at(later(clock.now(), millis(limits.closeMs)), () => {
    server.closeAllConnections();
    for (const lineConnection of lineConnections) lineConnection.destroy();
  });
  await closed;
  alarm.cancel();
}
