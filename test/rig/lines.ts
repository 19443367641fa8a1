/** The caller's end of a line connection, without any of the client's manners. */
import type { Socket } from "node:net";
import { LineCutter } from "../../src/std/lines.ts";
import { type AnswerLine, LINES_PATH, LINES_PROTOCOL } from "../../src/wire/frames.ts";
import type { HttpRig } from "./http.ts";

export interface Opening {
  readonly over?: "socket" | "tcp" | undefined;
  readonly token?: string | undefined;
  readonly headers?: Readonly<Record<string, string | undefined>> | undefined;
}

export class Lines {
  /** What came back, line by line. */
  readonly heard: AnswerLine[] = [];
  readonly socket: Socket;
  readonly closed: Promise<void>;
  readonly #cutter = new LineCutter(64 * 1024 * 1024);
  readonly #waiting: (() => void)[] = [];

  constructor(socket: Socket, head: Buffer) {
    this.socket = socket;
    this.closed = new Promise((resolve) => void socket.once("close", () => resolve()));
    socket.on("error", () => undefined);
    const take = (chunk: Buffer): void => {
      for (const line of this.#cutter.push(chunk))
        if ("bytes" in line) this.heard.push(JSON.parse(line.bytes.toString()) as AnswerLine);
      for (const tell of this.#waiting.splice(0)) tell();
    };
    socket.on("data", take);
    take(head);
  }

  say(...lines: readonly object[]): void {
    this.socket.write(lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  }

  /** The answer of that number, when it comes. */
  async answer(id: number): Promise<AnswerLine> {
    for (;;) {
      const found = this.heard.find((line) => line.id === id);
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => void this.#waiting.push(resolve));
    }
  }

  ask(line: { readonly id: number; readonly [field: string]: unknown }): Promise<AnswerLine> {
    this.say(line);
    return this.answer(line.id);
  }
}

/** Opens a line connection, or gives what was answered instead. */
export function openLines(
  rig: HttpRig,
  { over = "socket", token, headers = {} }: Opening = {},
): Promise<Lines | string> {
  const host = over === "socket" ? "localhost" : `127.0.0.1:${rig.port}`;
  const all = {
    host,
    connection: "Upgrade",
    upgrade: LINES_PROTOCOL,
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...headers,
  };
  const written = Object.entries(all).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}: ${value}\r\n`],
  );
  const socket = rig.raw(over);
  socket.write(`GET ${LINES_PATH} HTTP/1.1\r\n${written.join("")}\r\n`);
  return new Promise((resolve, reject) => {
    let head = Buffer.alloc(0);
    const take = (chunk: Buffer): void => {
      head = Buffer.concat([head, chunk]);
      const end = head.indexOf("\r\n\r\n");
      if (end < 0 || !head.subarray(0, 12).equals(Buffer.from("HTTP/1.1 101"))) return;
      socket.off("data", take);
      resolve(new Lines(socket, head.subarray(end + 4)));
    };
    socket.on("data", take);
    socket.once("error", reject);
    socket.once("close", () => resolve(head.toString()));
  });
}

export async function mustOpenLines(rig: HttpRig, opening: Opening = {}): Promise<Lines> {
  const opened = await openLines(rig, opening);
  if (typeof opened === "string") throw new Error(`no line connection: ${opened}`);
  return opened;
}
