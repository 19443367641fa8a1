/**
 * Calls and their answers: JSON in both directions, and refusals as the errors they were in the daemon. Over HTTP; a caller that calls
 * more than once gets a line connection, where the daemon has one.
 */
import type { ClientRequest, IncomingMessage } from "node:http";
import { USER_ERRORS, UserError, type UserErrorCode } from "../domain/errors.ts";
import { type Ask, reasonOf } from "./ask.ts";
import { type AnswerLine, LINE_MAX } from "./frames.ts";
import { ANSWER_MAX, BrokenConnection, type LineClient, notOurs, openLineClient } from "./line-client.ts";
import { Agent, request as open } from "./node-http.ts";
import { daemonSocket, socketAddress } from "./place.ts";

/** Where a daemon is: its state directory, the path of its socket, or its address with a token. */
export type Where =
  | { readonly state: string; readonly socket?: never; readonly url?: never; readonly token?: never }
  | { readonly socket: string; readonly state?: never; readonly url?: never; readonly token?: never }
  | { readonly url: string; readonly token: string; readonly state?: never; readonly socket?: never };

/** The header with the marks of the attempts in which the calling program runs. */
export const INSIDE = "rota-inside";

export interface Transport {
  /** The answer; nothing for "no content". */
  ask(ask: Ask): Promise<unknown>;
  /** The answer as a stream: calls `take` with its text until it ends, and `opened` when it has begun. */
  listen(ask: Ask, take: (text: string) => void, opened: () => void): Promise<void>;
  close(): void;
}

export function openTransport(where: Where, by: string | undefined, inside: readonly string[] = []): Transport {
  const agent = new Agent({ keepAlive: true, maxFreeSockets: 64, scheduling: "lifo" });
  let target = targetOf(where);
  const identity: Record<string, string> = {
    host: target.authority,
    ...(where.token !== undefined && { authorization: `Bearer ${where.token}` }),
    ...named(by),
    ...(inside.length > 0 && { [INSIDE]: encodeURIComponent(inside.join(",")) }),
  };
  const lineClients = new LineClientKeeper(async () => {
    const { connection, name } = targetOf(where);
    return openLineClient(connection, identity, () => silent(name));
  });

  const send = (ask: Ask, answered: (answer: IncomingMessage) => void, fail: (error: Error) => void): void => {
    const { method, path, body, signal, answerTimeout } = ask;
    // Looked up for every call: a daemon that was restarted may listen somewhere else.
    target = targetOf(where);
    const headers: Record<string, string | number> = { ...identity, ...ask.headers, ...named(ask.by) };
    if (body !== undefined) {
      headers["content-type"] = "application/json";
      headers["content-length"] = Buffer.byteLength(body);
    }
    const request = open({ ...target.connection, method, path, headers, agent, timeout: answerTimeout });
    const abort = (): void => void request.destroy(reasonOf(signal));
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
      const lineClient = isSmall(ask) ? lineClients.get() : undefined;
      if (lineClient !== undefined) {
        const answer = await lineClient.ask(ask).catch((error: unknown) => {
          if (!(error instanceof BrokenConnection)) throw error;
          if (!ask.repeatable || lineClients.isClosed) throw wentAway(target.name, error);
          return undefined;
        });
        if (answer !== undefined) return bodyOf(answer);
      }
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
    close() {
      lineClients.close();
      agent.destroy();
    },
  };
}

const named = (by: string | undefined): Readonly<Record<string, string>> =>
  by === undefined ? {} : { "rota-by": encodeURIComponent(by) };

/** Whether the call fits into a line, however it is encoded. A stream needs a connection of its own. */
const isSmall = ({ body = "", path }: Ask): boolean => (body.length + path.length) * 3 < LINE_MAX / 2;

/** The line connection of a transport, opened at the second call: a program that calls once does not need it. */
class LineClientKeeper {
  readonly #open: () => Promise<LineClient | undefined>;
  #lineClient: LineClient | undefined;
  #calls = 0;
  #state: "none" | "opening" | "closed" | undefined;

  constructor(open: () => Promise<LineClient | undefined>) {
    this.#open = open;
  }

  get isClosed(): boolean {
    return this.#state === "closed";
  }

  /** The line connection, when it is open; else one is opened for later calls. */
  get(): LineClient | undefined {
    if (this.#lineClient?.isOpen === true) return this.#lineClient.isFull ? undefined : this.#lineClient;
    this.#lineClient = undefined;
    if (++this.#calls > 1 && this.#state === undefined) void this.#begin();
    return undefined;
  }

  close(): void {
    this.#state = "closed";
    this.#lineClient?.close();
  }

  async #begin(): Promise<void> {
    this.#state = "opening";
    // Without a daemon the calls themselves report that; a daemon without line connections is not asked again.
    const lineClient = await this.#open().catch(() => null);
    if (this.isClosed) return lineClient?.close();
    this.#state = lineClient === undefined ? "none" : undefined;
    this.#calls = 0;
    this.#lineClient = lineClient ?? undefined;
  }
}

function targetOf(where: Where): { connection: object; authority: string; name: string } {
  if (where.url === undefined) {
    const socket = where.socket ?? daemonSocket(where.state);
    return { connection: { socketPath: socketAddress(socket) }, authority: "localhost", name: socket };
  }
  const url = URL.parse(where.url);
  if (url === null || url.protocol !== "http:") {
    throw new UserError("USAGE", "The address of a daemon is written http://HOST:PORT");
  }
  // A connection takes the address without its brackets.
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
    throw notOurs();
  }
}

function bodyOf({ status, body }: AnswerLine): unknown {
  if (status === 204 || status === 200) return body;
  throw refusalOf(status, errorOf(body));
}

/** The error as it was in the daemon. A code that this version does not know, from a newer daemon, keeps its message. */
function refusalOf(status: number, { code, message, hint, diagnostics }: Readonly<Record<string, unknown>>): UserError {
  if (typeof code !== "string" || typeof message !== "string") {
    return new UserError("DAEMON_FAILED", `The daemon answered with status ${status}`);
  }
  const known = Object.hasOwn(USER_ERRORS, code);
  return new UserError(known ? (code as UserErrorCode) : "DAEMON_FAILED", known ? message : `${code}: ${message}`, {
    ...(typeof hint === "string" && { hint }),
    ...(Array.isArray(diagnostics) && { diagnostics: diagnostics as readonly object[] }),
  });
}

function refusalIn(status: number, text: string): UserError {
  try {
    return refusalOf(status, errorOf(JSON.parse(text)));
  } catch {
    return refusalOf(status, {});
  }
}

const errorOf = (body: unknown): Readonly<Record<string, unknown>> =>
  (body as { readonly error?: Readonly<Record<string, unknown>> } | undefined)?.error ?? {};

/** The daemon closed an idle connection at the very moment it was used again: the call was not answered, and a new connection may work. */
const brokeBefore = (request: ClientRequest, { code }: NodeJS.ErrnoException): boolean =>
  request.reusedSocket && (code === "ECONNRESET" || code === "EPIPE");

const silent = (name: string): UserError => new UserError("DAEMON_MISSING", `The daemon at ${name} does not answer`);

const wentAway = (name: string, cause: unknown): UserError =>
  new UserError("DAEMON_STOPPING", `The daemon at ${name} went away`, { cause });

function asUserError(error: NodeJS.ErrnoException, name: string): Error {
  switch (error.code) {
    case "ENOENT":
    case "ECONNREFUSED":
    case "ENOTSOCK":
      return new UserError("DAEMON_MISSING", `There is no daemon at ${name}`, { cause: error });
    case "EACCES":
    case "EPERM":
      return new UserError("FORBIDDEN", `The daemon at ${name} belongs to another user`, { cause: error });
    // More callers connect at this moment than the system accepts; nothing was sent.
    case "EAGAIN":
      return new UserError("DAEMON_STOPPING", `The daemon at ${name} has no room for another caller yet`, {
        cause: error,
      });
    case "ECONNRESET":
    case "EPIPE":
      return wentAway(name, error);
    default:
      return error;
  }
}
