/** Writes answers. No header lets another origin read them, and no cache keeps them. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { later, millis } from "../domain/time.ts";
import type { Clock } from "../effects/clock.ts";
import { LINGER_BYTES, LINGER_MS } from "./limits.ts";
import { refusalOf } from "./refusal.ts";

const COMMON = ["content-type", "application/json", "cache-control", "no-store", "x-content-type-options", "nosniff"];

/** Without a value the answer is "no content". */
export function sendJson(response: ServerResponse, value: unknown, closing: boolean): void {
  // The peer may have gone while the answer was being made.
  if (response.headersSent || response.destroyed) return;
  if (closing) response.shouldKeepAlive = false;
  if (value === undefined) {
    response.writeHead(204, ["cache-control", "no-store"]);
    response.end();
    return;
  }
  const text = JSON.stringify(value);
  response.writeHead(200, [...COMMON, "content-length", String(Buffer.byteLength(text))]);
  response.end(text);
}

/** The largest unread body that is read to its end, so that the connection can be used again. */
const UNREAD_MAX = 64 * 1024;

export function sendRefusal(
  request: IncomingMessage,
  response: ServerResponse,
  error: unknown,
  clock: Clock,
  more: readonly string[] = [],
): void {
  if (response.headersSent) return void response.destroy();
  if (response.destroyed) return;
  const { status, body } = refusalOf(error);
  const headers = [...COMMON, ...more, "content-length", String(Buffer.byteLength(body))];
  if (status === 401) headers.push("www-authenticate", "Bearer");
  if (status === 429) headers.push("retry-after", "60");
  if (isSmall(request)) {
    response.writeHead(status, headers).end(body);
    return;
  }
  response.writeHead(status, [...headers, "connection", "close"]);
  response.write(body);
  linger(request, response, clock);
}

function isSmall({ complete, headers }: IncomingMessage): boolean {
  if (complete) return true;
  return headers["transfer-encoding"] === undefined && Number(headers["content-length"] ?? 0) <= UNREAD_MAX;
}

/**
 * A connection that is closed while its peer still sends loses the answer. So the answer is written whole, incoming bytes are
 * thrown away for a moment, and then the connection ends.
 */
function linger(request: IncomingMessage, response: ServerResponse, clock: Clock): void {
  let bytes = 0;
  const end = (): void => void response.end();
  const alarm = clock.at(later(clock.now(), millis(LINGER_MS)), end);
  response.once("close", () => alarm.cancel());
  request.once("end", end).on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > LINGER_BYTES) end();
  });
}
