/** An error as it is sent: a status, a stable code, a message and what to do about it. Never a stack. */
import type { Duplex } from "node:stream";
import { UserError, type UserErrorCode } from "../domain/errors.ts";
import { userErrorIn } from "../domain/told.ts";
import { STATUS_CODES } from "../wire/node-http.ts";

/** Without an entry here the request was well formed and cannot be fulfilled: a conflict. */
const CONFLICT = 409;
const STATUS: Partial<Readonly<Record<UserErrorCode, number>>> = {
  USAGE: 400,
  REQUEST_INVALID: 400,
  UNAUTHORIZED: 401,
  FORBIDDEN: 403,
  ORIGIN_REFUSED: 403,
  TOKEN_WRONG: 403,
  SELF_CLAIM_DISABLED: 403,
  ROUTE_UNKNOWN: 404,
  RUN_UNKNOWN: 404,
  TASK_UNKNOWN: 404,
  POOL_UNKNOWN: 404,
  TOKEN_UNKNOWN: 404,
  SESSION_UNKNOWN: 404,
  LEASE_UNKNOWN: 404,
  LOG_MISSING: 404,
  METHOD_REFUSED: 405,
  REQUEST_SLOW: 408,
  REQUEST_TOO_LARGE: 413,
  NOT_JSON: 415,
  PLAN_INVALID: 422,
  PLAN_UNREADABLE: 422,
  LOCKED_OUT: 429,
  STORE_CORRUPT: 500,
  STORE_FAILED: 500,
  DAEMON_FAILED: 500,
  DAEMON_STOPPING: 503,
  MACHINE_SHORT: 503,
  QUEUE_FULL: 503,
};

export interface Refusal {
  readonly status: number;
  readonly body: string;
}

/** Of an error that is the daemon's own fault the caller learns only that there was one. */
export function refusalOf(error: unknown): Refusal {
  const known = userErrorIn(error) ?? new UserError("DAEMON_FAILED", "The daemon failed to answer");
  const { code, message, hint, diagnostics } = known;
  return {
    status: STATUS[code] ?? CONFLICT,
    body: JSON.stringify({ error: { code, message, hint, ...(diagnostics !== undefined && { diagnostics }) } }),
  };
}

/** For a connection without a response to write to; it is closed. `status` replaces the status of the code. */
export function writeRefusal(socket: Duplex, error: unknown, status?: number): void {
  const refusal = refusalOf(error);
  const code = status ?? refusal.status;
  const { body } = refusal;
  const head = `HTTP/1.1 ${code} ${STATUS_CODES[code]}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close`;
  socket.end(`${head}\r\n\r\n${body}`, () => socket.destroy());
}

/** Only a fault of the daemon itself is told with its place in the program; a disk that fails is told by the daemon as it ends. */
export const isOurFault = (error: unknown): boolean =>
  (userErrorIn(error)?.code ?? "DAEMON_FAILED") === "DAEMON_FAILED";
