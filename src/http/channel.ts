/**
 * The daemon's side of a channel: many calls over one connection (`src/wire/frames.ts`). Each call is let in, found, read and called
 * as a request would be; what a token may no longer do stops on an open channel too.
 */
import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { UserError } from "../domain/errors.ts";
import { later, millis } from "../domain/time.ts";
import type { Timer } from "../effects/clock.ts";
import { type Line, LineCutter } from "../std/lines.ts";
import { type AnswerLine, CHANNEL_PATH, CHANNEL_PROTOCOL, LINE_MAX } from "../wire/frames.ts";
import { allows, type Route } from "../wire/route.ts";
import type { Caller } from "../wire/service.ts";
import type { Door } from "./door.ts";
import { type Desk, stopping } from "./exchange.ts";
import { queryOf, readRequest } from "./input.ts";
import { CALLS_MAX } from "./limits.ts";
import { isOurFault, refusalOf, writeRefusal } from "./refusal.ts";

/** What has been asked, with nothing known of it yet. */
interface Asked {
  readonly id: number;
  readonly method?: unknown;
  readonly path?: unknown;
  readonly body?: unknown;
  readonly by?: unknown;
  readonly cancel?: unknown;
}

/** What of a route's input matters here. */
interface Input extends Readonly<Record<string, unknown>> {
  readonly waitMs?: number;
  readonly follow?: boolean;
}

export const isChannel = ({ url, headers }: IncomingMessage): boolean =>
  url === CHANNEL_PATH && headers.upgrade === CHANNEL_PROTOCOL;

/** Takes over a connection whose request asked for it. */
export function openChannel(desk: Desk, door: Door, request: IncomingMessage, socket: Socket, head: Buffer): void {
  try {
    if (!isChannel(request)) throw new UserError("REQUEST_INVALID", "There is nothing to upgrade to");
    door.admit(request);
  } catch (error) {
    return writeRefusal(socket, error);
  }
  const channel = new Channel(desk, door, request, socket);
  desk.channels.add(channel);
  socket.once("close", () => {
    desk.channels.delete(channel);
    channel.gone();
  });
  socket.write(`HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: ${CHANNEL_PROTOCOL}\r\n\r\n`);
  channel.open(head);
}

export class Channel {
  readonly #desk: Desk;
  readonly #door: Door;
  readonly #request: Pick<IncomingMessage, "headers" | "socket">;
  readonly #socket: Socket;
  readonly #lines = new LineCutter(LINE_MAX);
  /** What is underway, by number: how to give it up, where it waits for something. */
  readonly #calls = new Map<number, (() => void) | undefined>();
  #slow: Timer | undefined;
  #ending = false;

  constructor(desk: Desk, door: Door, { headers }: IncomingMessage, socket: Socket) {
    this.#desk = desk;
    this.#door = door;
    this.#request = { headers, socket };
    this.#socket = socket;
  }

  open(head: Buffer): void {
    const socket = this.#socket;
    socket.on("error", () => undefined);
    // Whoever hangs up has no use for answers; by itself the server would keep its half of the connection open.
    socket.once("end", () => {
      this.gone();
      socket.end();
    });
    socket.on("data", (chunk: Buffer) => this.#take(chunk));
    socket.on("drain", () => this.#breathe());
    socket.setTimeout(this.#desk.limits.idleMs, () => {
      if (this.#calls.size === 0) socket.end();
    });
    if (head.length > 0) this.#take(head);
  }

  /** Takes nothing more; the connection ends when everything has been answered. */
  end(): void {
    this.#ending = true;
    this.#socket.pause();
    if (this.#calls.size === 0) this.#socket.end();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  /** The peer is there no more: whoever waits on its behalf need not. */
  gone(): void {
    this.#slow?.cancel();
    for (const giveUp of this.#calls.values()) giveUp?.();
    this.#calls.clear();
  }

  #take(chunk: Buffer): void {
    for (const line of this.#lines.push(chunk)) {
      if (this.#ending) return;
      this.#hear(line);
    }
    if (this.#lines.isTooLong) this.#breakOff(tooLong());
    this.#watchSlow();
    this.#breathe();
  }

  /** A line that was begun has to end some time. */
  #watchSlow(): void {
    const { clock, limits } = this.#desk;
    this.#slow?.cancel();
    this.#slow = undefined;
    if (!this.#lines.isOpen) return;
    const tell = (): void => this.#breakOff(new UserError("REQUEST_SLOW", "The request took too long to arrive"));
    this.#slow = clock.at(later(clock.now(), millis(limits.requestMs)), tell);
  }

  /** Takes no more than it can answer: who asks without listening, or for everything at once, is asked to wait. */
  #breathe(): void {
    if (this.#ending) return;
    const isFull = this.#calls.size >= CALLS_MAX || this.#socket.writableLength > this.#desk.limits.followBytes;
    if (isFull) this.#socket.pause();
    else if (this.#socket.isPaused()) this.#socket.resume();
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
      this.#call(asked);
    } catch (error) {
      this.#refuse(id, error);
    }
  }

  #call({ id, method, path, body, by }: Asked): void {
    const desk = this.#desk;
    if (typeof method !== "string" || typeof path !== "string")
      throw new UserError("REQUEST_INVALID", "A call has a method and a path");
    const admission = this.#door.admit(this.#named(by));
    const mark = path.indexOf("?");
    const found = desk.router.find(method, mark < 0 ? path : path.slice(0, mark));
    if (!("route" in found)) throw new UserError("ROUTE_UNKNOWN", "There is no such path on a channel");
    const { route, params } = found;
    if (!allows(admission.scope, route.scope))
      throw new UserError("FORBIDDEN", `The token lacks the scope "${route.scope}"`);
    const given = method === "POST" ? (body ?? {}) : queryOf(mark < 0 ? "" : path.slice(mark + 1), route.request);
    const input = readRequest(route.request, given) as Input;
    refuseStream(route, input);
    const wait = route.waits && (input.waitMs ?? 0) > 0 ? desk.waits.open() : undefined;
    const caller: Caller = wait === undefined ? admission : { by: admission.by, signal: wait.signal };
    this.#calls.set(id, wait?.giveUp);
    const over = (): void => {
      wait?.over();
      this.#calls.delete(id);
    };
    route.call(desk.backend, params, input, caller).then(
      (value) => {
        over();
        this.#answer(value === undefined ? { id, status: 204 } : { id, status: 200, body: value });
      },
      (error: unknown) => {
        over();
        this.#refuse(id, stopping(error, desk, caller));
      },
    );
  }

  /** Whoever opened the channel, unless the call says otherwise and may. */
  #named(by: unknown): Pick<IncomingMessage, "headers" | "socket"> {
    if (by === undefined) return this.#request;
    if (typeof by !== "string") throw new UserError("REQUEST_INVALID", "Who calls is said by a name");
    const { headers, socket } = this.#request;
    return { headers: { ...headers, "rota-by": encodeURIComponent(by.toWellFormed()) }, socket };
  }

  #refuse(id: number, error: unknown): void {
    if (isOurFault(error)) this.#desk.onFault(error);
    const { status, body } = refusalOf(error);
    this.#answer({ id, status, body: JSON.parse(body) as unknown });
  }

  #answer(line: AnswerLine): void {
    if (!this.#socket.writable) return;
    this.#socket.write(`${JSON.stringify(line)}\n`);
    this.#breathe();
    if (this.#ending && this.#calls.size === 0) this.#socket.end();
  }

  /** What comes cannot be told apart any more: that is said, and then the connection ends. */
  #breakOff(error: unknown): void {
    if (this.#ending) return;
    this.#ending = true;
    this.#refuse(NOBODY, error);
    this.#socket.end();
  }
}

/** The number of an answer that is to nobody's call. */
const NOBODY = -1;

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

/** What does not end would keep its number for ever. */
function refuseStream({ stream }: Route, { follow }: Input): void {
  if (stream === "wakes" || (stream === "events" && follow === true))
    throw new UserError("REQUEST_INVALID", "A stream is asked for by a request of its own, not on a channel");
}
