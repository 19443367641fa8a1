/**
 * The daemon's side of a line connection: many calls over one connection (`src/wire/frames.ts`). Each call is authenticated, routed and read
 * as a request would be; a token that was revoked or has expired stops working on an open line connection too.
 */
import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { UserError } from "../domain/errors.ts";
import { later, millis } from "../domain/time.ts";
import type { Timer } from "../effects/clock.ts";
import { type Line, LineCutter } from "../std/lines.ts";
import { type AnswerLine, CALLS_MAX, LINE_MAX, LINES_PATH, LINES_PROTOCOL } from "../wire/frames.ts";
import type { Route } from "../wire/route.ts";
import type { Caller } from "../wire/service.ts";
import type { Authenticator } from "./authentication.ts";
import { type Input, lookUp, type ServerContext, stopping } from "./exchange.ts";
import { queryOf, readRequest } from "./input.ts";
import { LINGER_MS } from "./limits.ts";
import { isOurFault, refusalOf, writeRefusal } from "./refusal.ts";

/** A call before it has been read. */
interface Asked {
  readonly id: number;
  readonly method?: unknown;
  readonly path?: unknown;
  readonly body?: unknown;
  readonly by?: unknown;
  readonly cancel?: unknown;
}

export const asksForLines = ({ url, headers }: IncomingMessage): boolean =>
  url === LINES_PATH && headers.upgrade === LINES_PROTOCOL;

/** Takes over a connection whose request asked for it. */
export function acceptLines(
  context: ServerContext,
  authenticator: Authenticator,
  request: IncomingMessage,
  socket: Socket,
  head: Buffer,
): void {
  // From here on the socket is ours: without an error listener, a peer that resets it would end the process.
  socket.on("error", () => undefined);
  try {
    if (!asksForLines(request)) throw new UserError("REQUEST_INVALID", "There is nothing to upgrade to");
    authenticator.authenticate(request);
  } catch (error) {
    return writeRefusal(socket, error);
  }
  const lineConnection = new LineConnection(context, authenticator, request, socket);
  context.lineConnections.add(lineConnection);
  socket.once("close", () => {
    context.lineConnections.delete(lineConnection);
    lineConnection.gone();
  });
  socket.write(`HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: ${LINES_PROTOCOL}\r\n\r\n`);
  lineConnection.open(head);
}

export class LineConnection {
  readonly #context: ServerContext;
  readonly #authenticator: Authenticator;
  readonly #request: Pick<IncomingMessage, "headers" | "socket">;
  readonly #socket: Socket;
  readonly #lines = new LineCutter(LINE_MAX);
  /** The calls in progress, by number, each with a way to give it up if it waits for something. */
  readonly #calls = new Map<number, (() => void) | undefined>();
  #slow: Timer | undefined;
  #ending = false;

  constructor(context: ServerContext, authenticator: Authenticator, { headers }: IncomingMessage, socket: Socket) {
    this.#context = context;
    this.#authenticator = authenticator;
    this.#request = { headers, socket };
    this.#socket = socket;
  }

  open(head: Buffer): void {
    const socket = this.#socket;
    // A peer that hangs up does not read answers; without this the server would keep its half of the connection open.
    socket.once("end", () => {
      this.gone();
      socket.end();
    });
    socket.on("data", (chunk: Buffer) => this.#take(chunk));
    socket.on("drain", () => this.#breathe());
    socket.setTimeout(this.#context.limits.idleMs, () => {
      if (this.#calls.size === 0) this.end();
    });
    if (head.length > 0) this.#take(head);
  }

  /** Takes no more calls; the connection ends when every call is answered. */
  end(): void {
    this.#ending = true;
    this.#slow?.cancel();
    if (this.#calls.size === 0) this.#hangUp();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  /** The peer is gone: calls that wait on its behalf are given up. */
  gone(): void {
    this.#slow?.cancel();
    for (const giveUp of this.#calls.values()) giveUp?.();
    this.#calls.clear();
  }

  #take(chunk: Buffer): void {
    // Further bytes are read and thrown away, so that the end of the connection is noticed.
    if (this.#ending) return;
    const lines = this.#lines.push(chunk);
    if (lines.length > 0) this.#ended();
    for (const line of lines) if (!this.#ending) this.#hear(line);
    if (this.#lines.isTooLong) this.#breakOff(tooLong());
    this.#watchSlow();
    this.#breathe();
  }

  /** An incomplete line must be completed in time, however often a little more of it arrives. */
  #watchSlow(): void {
    const { clock, limits } = this.#context;
    if (!this.#lines.isOpen || this.#slow !== undefined || this.#ending || this.#socket.isPaused()) return;
    const tell = (): void => this.#breakOff(new UserError("REQUEST_SLOW", "The request took too long to arrive"));
    this.#slow = clock.at(later(clock.now(), millis(limits.requestMs)), tell);
  }

  #ended(): void {
    this.#slow?.cancel();
    this.#slow = undefined;
  }

  /** Reads no further calls from a peer that does not read its answers. */
  #breathe(): void {
    if (this.#ending) return;
    if (this.#socket.writableLength > this.#context.limits.followBytes) {
      // The line is not late now: the server itself has stopped reading.
      this.#ended();
      this.#socket.pause();
    } else if (this.#socket.isPaused()) {
      this.#socket.resume();
      this.#watchSlow();
    }
  }

  #hear(line: Line): void {
    let asked: Asked;
    try {
      asked = readLine(line);
    } catch (error) {
      return this.#breakOff(error);
    }
    const { id } = asked;
    if (asked.cancel === true) return this.#calls.get(id)?.();
    if (this.#calls.has(id)) {
      return this.#breakOff(new UserError("REQUEST_INVALID", `Call ${id} is underway already`));
    }
    try {
      if (this.#calls.size >= CALLS_MAX)
        throw new UserError("REQUEST_INVALID", `There are ${CALLS_MAX} calls underway on this channel already`);
      this.#call(asked);
    } catch (error) {
      this.#refuse(id, error);
    }
  }

  #call({ id, method, path, body, by }: Asked): void {
    const context = this.#context;
    if (typeof method !== "string" || typeof path !== "string")
      throw new UserError("REQUEST_INVALID", "A call has a method and a path");
    const admission = this.#authenticator.authenticate(this.#named(by));
    const { found, query } = lookUp(context, admission, method, path);
    if (!("route" in found)) throw new UserError("ROUTE_UNKNOWN", "There is no such path on a channel");
    const { route, params } = found;
    const given = method === "POST" ? (body ?? {}) : queryOf(query, route.request);
    const input = readRequest(route.request, given) as Input;
    refuseStream(route, input);
    const wait = route.waits && (input.waitMs ?? 0) > 0 ? context.waits.open() : undefined;
    const caller: Caller = wait === undefined ? admission : { ...admission, signal: wait.signal };
    this.#calls.set(id, wait?.giveUp);
    const over = (): void => {
      wait?.over();
      this.#calls.delete(id);
    };
    const fail = (error: unknown): void => {
      over();
      this.#refuse(id, stopping(error, context, caller));
    };
    try {
      route.call(context.backend, params, input, caller).then((value) => {
        over();
        this.#give(id, value);
      }, fail);
    } catch (error) {
      fail(error);
    }
  }

  #give(id: number, value: unknown): void {
    try {
      this.#answer(value === undefined ? { id, status: 204 } : { id, status: 200, body: value });
    } catch (error) {
      this.#refuse(id, error);
    }
  }

  /** The caller that opened the line connection, unless the call names another one and is allowed to. */
  #named(by: unknown): Pick<IncomingMessage, "headers" | "socket"> {
    if (by === undefined) return this.#request;
    if (typeof by !== "string") throw new UserError("REQUEST_INVALID", "Who calls is said by a name");
    const { headers, socket } = this.#request;
    return { headers: { ...headers, "rota-by": encodeURIComponent(by.toWellFormed()) }, socket };
  }

  #refuse(id: number, error: unknown): void {
    if (isOurFault(error)) this.#context.onFault(error);
    const { status, body } = refusalOf(error);
    this.#answer({ id, status, body: JSON.parse(body) as unknown });
  }

  #answer(line: AnswerLine): void {
    if (!this.#socket.writable) return;
    this.#socket.write(`${JSON.stringify(line)}\n`);
    this.#breathe();
    if (this.#ending && this.#calls.size === 0) this.#hangUp();
  }

  /** Calls on this connection cannot be told apart any more: the peer is told, and then the connection ends. */
  #breakOff(error: unknown): void {
    if (this.#ending) return;
    this.#ending = true;
    this.gone();
    this.#refuse(NO_CALL, error);
  }

  /** Closes the connection if the peer does not close it in time. */
  #hangUp(): void {
    const { clock } = this.#context;
    if (this.#socket.writableEnded) return;
    this.#socket.resume();
    this.#socket.end();
    const alarm = clock.at(later(clock.now(), millis(LINGER_MS)), () => this.#socket.destroy());
    this.#socket.once("close", () => alarm.cancel());
  }
}

/** The number of an answer that belongs to no call. */
const NO_CALL = -1;

function readLine(line: Line): Asked {
  if ("tooLong" in line) throw tooLong();
  const { bytes } = line;
  if (!isUtf8(bytes)) throw new UserError("NOT_JSON", "The request is not UTF-8");
  let asked: unknown;
  try {
    asked = JSON.parse(bytes.toString("utf8"));
  } catch {
    throw new UserError("NOT_JSON", "The request is not JSON");
  }
  const { id } = (asked ?? {}) as { readonly id?: unknown };
  if (!Number.isSafeInteger(id) || (id as number) < 0)
    throw new UserError("REQUEST_INVALID", "A call has a number of its own, from 0 on");
  return asked as Asked;
}

const tooLong = (): UserError =>
  new UserError("REQUEST_TOO_LARGE", `The line has more than ${LINE_MAX} bytes: send it as a request of its own`);

/** A stream has no end, so it would keep its number for ever. */
function refuseStream({ stream }: Route, { follow }: Input): void {
  if (stream === "wakes" || (stream === "events" && follow === true))
    throw new UserError("REQUEST_INVALID", "A stream is asked for by a request of its own, not on a channel");
}
