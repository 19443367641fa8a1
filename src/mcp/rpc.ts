/**
 * JSON-RPC 2.0 as MCP uses it: what a message is, and how it is answered.
 *
 * Our own and small, as the whole of this folder is: the official SDK would bring a dozen packages into a program that otherwise
 * depends on one, for four methods and a dozen tools. Tests hold it against the official client.
 */
import { isMap } from "../std/schema.ts";

export type RpcId = string | number;
export type Params = Readonly<Record<string, unknown>>;

export interface RpcRequest {
  readonly kind: "request";
  readonly id: RpcId;
  readonly method: string;
  readonly params: Params;
}
export interface RpcNotification {
  readonly kind: "notification";
  readonly method: string;
  readonly params: Params;
}
/** Something that is none of these. It is answered where an answer could be told apart from silence. */
export interface RpcMistake {
  readonly kind: "mistake";
  readonly reply: RpcFailure;
}
/** An answer to a question that was never asked: servers here ask nothing. */
export interface RpcStray {
  readonly kind: "stray";
}
export type RpcMessage = RpcRequest | RpcNotification | RpcMistake | RpcStray;

export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}
export interface RpcSuccess {
  readonly jsonrpc: "2.0";
  readonly id: RpcId;
  readonly result: object;
}
export interface RpcFailure {
  readonly jsonrpc: "2.0";
  /** Nothing when the request was not understood well enough to know it. */
  readonly id: RpcId | null;
  readonly error: RpcError;
}
export type RpcReply = RpcSuccess | RpcFailure;

/** Something we tell without being asked: only `notifications/progress`. */
export interface RpcNews {
  readonly jsonrpc: "2.0";
  readonly method: string;
  readonly params: object;
}

export const RPC = {
  parse: -32_700,
  request: -32_600,
  method: -32_601,
  params: -32_602,
  fault: -32_603,
  headers: -32_020,
  version: -32_022,
} as const;

export const success = (id: RpcId, result: object): RpcSuccess => ({ jsonrpc: "2.0", id, result });

export const failure = (id: RpcId | null, code: number, message: string, data?: unknown): RpcFailure => ({
  jsonrpc: "2.0",
  id,
  error: { code, message, ...(data !== undefined && { data }) },
});

/** The request cannot be served as it is: a mistake of the client's program, not of the agent that uses it. */
export class RpcRefusal extends Error {
  override readonly name = "RpcRefusal";
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** Says what one parsed message is. A batch is not one message: see `Connection`. */
export function readMessage(raw: unknown): RpcMessage {
  if (!isMap(raw)) return mistake(null, "A message is a JSON object.");
  const id = readId(raw["id"]);
  if (raw["jsonrpc"] !== "2.0") return mistake(id ?? null, 'A message says `"jsonrpc": "2.0"`.');
  const { method } = raw;
  if (method === undefined && ("result" in raw || "error" in raw)) return { kind: "stray" };
  if (typeof method !== "string") return mistake(id ?? null, "A request has a `method`, which is text.");
  const params = raw["params"] ?? {};
  if (!("id" in raw)) return { kind: "notification", method, params: isMap(params) ? params : {} };
  if (id === undefined) return mistake(null, "The `id` of a request is text or a number.");
  if (!isMap(params)) return mistake(id, "The `params` of a request are an object.", RPC.params);
  return { kind: "request", id, method, params };
}

const readId = (raw: unknown): RpcId | undefined =>
  typeof raw === "string" || (typeof raw === "number" && Number.isFinite(raw)) ? raw : undefined;

const mistake = (id: RpcId | null, message: string, code: number = RPC.request): RpcMistake => ({
  kind: "mistake",
  reply: failure(id, code, message),
});

/** The object under `key`, or an empty one. */
export function mapAt(params: Params, key: string): Params {
  const found = params[key];
  return isMap(found) ? found : {};
}
