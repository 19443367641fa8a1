/** Requests over HTTP and their answers: JSON there, JSON back, refusals as the errors they were on the other side. */
import type { ClientRequest, IncomingMessage } from "node:http";
import { USER_ERRORS, UserError, type UserErrorCode } from "../domain/errors.ts";
import { Agent, request as open } from "./node-http.ts";
import { socketAddress } from "./place.ts";
import type { Method } from "./route.ts";

/** Where a daemon is: the path of its socket, or its address with a token. */
export type Where =
  | { readonly socket: string; readonly url?: never; readonly token?: never }
  | { readonly url: string; readonly token: string; readonly socket?: never };

export interface Ask {
  readonly method: Method;
  readonly path: string;
  readonly body?: string;
  readonly signal?: AbortSignal | undefined;
  /** Asking twice does no harm, so a connection that broke is no reason to give up. */
  readonly repeatable: boolean;
  /** How long the other side may be silent, in milliseconds. */
  readonly patience: number;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Transport {
  /** The answer; nothing for "no content". */
  ask(ask: Ask): Promise<unknown>;
  /** The answer as it comes: calls `take` with its text until it ends, and `opened` when it has begun. */
  listen(ask: Ask, take: (text: string) => void, opened: () => void): Promise<void>;
  close(): void;
}

/** The most that is taken of an answer. */
const ANSWER_MAX = 512 * 1024 * 1024;

export function openTransport(where: Where, by: string | undefined): Transport {
  const agent = new Agent({ keepAlive: true, maxFreeSockets: 64, scheduling: "lifo" });
  const target = targetOf(where);
  const identity: Record<string, string> = {
    host: target.authority,
    ...(where.token !== undefined && { authorization: `Bearer ${where.token}` }),
    ...(by !== undefined && { "rota-by": encodeURIComponent(by) }),
  };

  const send = (ask: Ask, answered: (answer: IncomingMessage) => void, fail: (error: Error) => void): void => {
    const { method, path, body, signal, patience } = ask;
    const headers: Record<string, string | number> = { ...identity, ...ask.headers };
    if (body !== undefined) {
      headers["content-type"] = "application/json";
      headers["content-length"] = Buffer.byteLength(body);
    }
    const request = open({ ...target.connection, method, path, headers, agent, timeout: patience });
    const abort = (): void => void request.destroy(aborted(signal));
    request.once("response", answered);
    request.once("timeout", () => request.destroy(silent(target.name)));
    request.once("error", (error: NodeJS.ErrnoException) => {
      signal?.removeEventListener("abort", abort);
      if (ask.repeatable && brokeBefore(request, error)) return send({ ...ask, repeatable: false }, answered, fail);
      fail(asUserError(error, target.name));
    });
    request.once("close", () => signal?.removeEventListener("abort", abort));
    if (signal?.aborted === true) return abort();
    signal?.addEventListener("abort", abort, { once: true });
    request.end(body);
  };

  return {
    async ask(ask) {
      const { answer, text } = await new Promise<Gathered>((resolve, reject) => {
        send(ask, (answer) => gather(answer, target.name, (text) => resolve({ answer, text }), reject), reject);
      });
      return read(answer.statusCode ?? 0, text);
    },
    listen: (ask, take, opened) =>
      new Promise((resolve, reject) => {
        const hear = (answer: IncomingMessage): void => {
          if (answer.statusCode !== 200) {
            gather(answer, target.name, (text) => reject(refusalIn(answer.statusCode ?? 0, text)), reject);
            return;
          }
          opened();
          answer.setEncoding("utf8").on("data", (text: string) => {
            try {
              take(text);
            } catch (error) {
              answer.destroy(error as Error);
            }
          });
          answer.once("end", resolve).once("error", (error) => reject(asUserError(error, target.name)));
        };
        send(ask, hear, reject);
      }),
    close: () => agent.destroy(),
  };
}

function targetOf(where: Where): { connection: object; authority: string; name: string } {
  if (where.socket !== undefined) {
    return { connection: { socketPath: socketAddress(where.socket) }, authority: "localhost", name: where.socket };
  }
  const url = URL.parse(where.url);
  if (url === null || url.protocol !== "http:") {
    throw new UserError("USAGE", "The address of a daemon is written http://HOST:PORT");
  }
  // In brackets an address cannot be connected to.
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  return { connection: { host, port: url.port === "" ? 80 : Number(url.port) }, authority: url.host, name: url.origin };
}

interface Gathered {
  readonly answer: IncomingMessage;
  readonly text: string;
}

/** Reads the whole answer. */
function gather(
  answer: IncomingMessage,
  name: string,
  then: (text: string) => void,
  fail: (error: Error) => void,
): void {
  let text = "";
  answer.setEncoding("utf8");
  answer.on("data", (part: string) => {
    text += part;
    if (text.length > ANSWER_MAX) answer.destroy(new UserError("DAEMON_FAILED", "The answer is too large"));
  });
  answer.once("end", () => then(text));
  answer.once("error", (error) => fail(asUserError(error, name)));
}

function read(status: number, text: string): unknown {
  if (status === 204) return undefined;
  if (status !== 200) throw refusalIn(status, text);
  try {
    return JSON.parse(text);
  } catch {
    throw new UserError("DAEMON_FAILED", "What answers there is not a daemon of Rota");
  }
}

/** The error as it was on the other side. A code that is not known here, from a newer daemon, keeps its message. */
function refusalIn(status: number, text: string): UserError {
  const { code, message, hint, diagnostics } = errorIn(text);
  if (typeof code !== "string" || typeof message !== "string") {
    return new UserError("DAEMON_FAILED", `The daemon answered with status ${status}`);
  }
  const known = Object.hasOwn(USER_ERRORS, code);
  return new UserError(known ? (code as UserErrorCode) : "DAEMON_FAILED", known ? message : `${code}: ${message}`, {
    ...(typeof hint === "string" && { hint }),
    ...(Array.isArray(diagnostics) && { diagnostics: diagnostics as readonly object[] }),
  });
}

function errorIn(text: string): Readonly<Record<string, unknown>> {
  try {
    const { error } = JSON.parse(text) as { readonly error?: Readonly<Record<string, unknown>> };
    return error ?? {};
  } catch {
    return {};
  }
}

/** The other side closed an idle connection at the very moment it was used again: nothing was answered, and a new one may do. */
const brokeBefore = (request: ClientRequest, { code }: NodeJS.ErrnoException): boolean =>
  request.reusedSocket && (code === "ECONNRESET" || code === "EPIPE");

const silent = (name: string): UserError => new UserError("DAEMON_MISSING", `The daemon at ${name} does not answer`);

const aborted = (signal: AbortSignal | undefined): Error =>
  signal?.reason instanceof Error ? signal.reason : new DOMException("The call was given up", "AbortError");

function asUserError(error: NodeJS.ErrnoException, name: string): Error {
  switch (error.code) {
    case "ENOENT":
    case "ECONNREFUSED":
    case "ENOTSOCK":
      return new UserError("DAEMON_MISSING", `There is no daemon at ${name}`, { cause: error });
    case "EACCES":
    case "EPERM":
      return new UserError("FORBIDDEN", `The daemon at ${name} belongs to somebody else`, { cause: error });
    // More callers knock at this moment than can be taken in; nothing was sent.
    case "EAGAIN":
      return new UserError("DAEMON_STOPPING", `The daemon at ${name} has no room for another caller yet`, {
        cause: error,
      });
    case "ECONNRESET":
    case "EPIPE":
      return new UserError("DAEMON_STOPPING", `The daemon at ${name} went away`, { cause: error });
    default:
      return error;
  }
}
