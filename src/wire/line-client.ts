/** The caller's side of a line connection: many calls over one connection, each answered when it is ready. See `frames.ts`. */
import type { Socket } from "node:net";
import { UserError } from "../domain/errors.ts";
import { type Line, LineCutter } from "../std/lines.ts";
import { type Ask, reasonOf } from "./ask.ts";
import { type AnswerLine, CALLS_MAX, LINES_PATH, LINES_PROTOCOL } from "./frames.ts";
import { request as open } from "./node-http.ts";

/** The largest answer that is read. */
export const ANSWER_MAX = 512 * 1024 * 1024;

/** The connection broke before the call was answered. */
export class BrokenConnection extends Error {}

interface Pending {
  readonly answered: (answer: AnswerLine) => void;
  readonly fail: (error: Error) => void;
}

export class LineClient {
  readonly #socket: Socket;
  readonly #lines = new LineCutter(ANSWER_MAX);
  readonly #pending = new Map<number, Pending>();
  readonly #silent: () => Error;
  #next = 0;
  #answerTimeout = 0;

  /** `silent`: the error for a connection that is silent for longer than any call waits. */
  constructor(socket: Socket, head: Buffer, silent: () => Error) {
    this.#socket = socket;
    this.#silent = silent;
    socket.setNoDelay(true);
    socket.on("data", (chunk: Buffer) => this.#take(chunk));
    socket.on("timeout", () => this.#break(this.#silent()));
    socket.on("error", () => this.#break(new BrokenConnection()));
    socket.on("close", () => this.#break(new BrokenConnection()));
    socket.unref();
    if (head.length > 0) this.#take(head);
  }

  get isOpen(): boolean {
    return this.#socket.writable && this.#socket.readable;
  }

  /** Whether the line connection takes no further call: some calls wait, and a report must not stand behind them. */
  get isFull(): boolean {
    return this.#pending.size >= CALLS_MAX / 2;
  }

  ask({ method, path, body, by, signal, answerTimeout }: Ask): Promise<AnswerLine> {
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      const abort = (): void => {
        this.#socket.write(`{"id":${id},"cancel":true}\n`);
        settle(() => reject(reasonOf(signal)));
      };
      const settle = (then: () => void): void => {
        this.#pending.delete(id);
        signal?.removeEventListener("abort", abort);
        if (this.#pending.size === 0) this.#rest();
        then();
      };
      if (signal?.aborted === true) return reject(reasonOf(signal));
      signal?.addEventListener("abort", abort, { once: true });
      this.#pending.set(id, {
        answered: (answer) => settle(() => resolve(answer)),
        fail: (error) => settle(() => reject(error)),
      });
      this.#watch(answerTimeout);
      const from = by === undefined ? "" : `,"by":${JSON.stringify(by)}`;
      const what = body === undefined ? "" : `,"body":${body}`;
      this.#socket.write(`{"id":${id},"method":"${method}","path":${JSON.stringify(path)}${from}${what}}\n`);
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  #take(chunk: Buffer): void {
    for (const line of this.#lines.push(chunk)) {
      const answer = readAnswer(line);
      if (answer === undefined) return this.#break(notOurs());
      this.#pending.get(answer.id)?.answered(answer);
    }
    if (this.#lines.isTooLong) this.#break(new UserError("DAEMON_FAILED", "The answer is too large"));
  }

  /** A call waits for an answer: the daemon may be silent for the longest time-out of the calls that wait. */
  #watch(answerTimeout: number): void {
    if (this.#answerTimeout === 0) this.#socket.ref();
    if (answerTimeout <= this.#answerTimeout) return;
    this.#answerTimeout = answerTimeout;
    this.#socket.setTimeout(answerTimeout);
  }

  /** While no call waits for an answer, the line connection does not keep the process alive. */
  #rest(): void {
    this.#answerTimeout = 0;
    this.#socket.setTimeout(0);
    this.#socket.unref();
  }

  #break(error: Error): void {
    this.#socket.destroy();
    for (const { fail } of [...this.#pending.values()]) fail(error);
  }
}

/** Opens a line connection; nothing when the daemon does not know line connections. */
export function openLineClient(
  connection: object,
  identity: Readonly<Record<string, string>>,
  silent: () => Error,
): Promise<LineClient | undefined> {
  return new Promise((resolve, reject) => {
    const headers = { ...identity, connection: "Upgrade", upgrade: LINES_PROTOCOL };
    const request = open({ ...connection, method: "GET", path: LINES_PATH, headers, agent: false });
    request.once("upgrade", (_, socket, head) => resolve(new LineClient(socket, head, silent)));
    request.once("response", (answer) => {
      answer.resume();
      // Another refusal does not show whether the daemon knows line connections.
      if (answer.statusCode === 404) resolve(undefined);
      else reject(new BrokenConnection());
    });
    request.once("socket", (socket) => socket.unref());
    request.once("error", reject);
    request.end();
  });
}

function readAnswer(line: Line): AnswerLine | undefined {
  if ("tooLong" in line) return undefined;
  try {
    const answer = JSON.parse(line.bytes.toString("utf8")) as AnswerLine | null;
    return typeof answer?.id === "number" && typeof answer.status === "number" ? answer : undefined;
  } catch {
    return undefined;
  }
}

export const notOurs = (): UserError => new UserError("DAEMON_FAILED", "What answers there is not a daemon of Rota");
