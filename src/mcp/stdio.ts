/**
 * MCP over two streams, one message a line: how a client talks to a server that it started itself. Nothing but messages is ever
 * written to `output`.
 */
import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import { later, millis } from "../domain/time.ts";
import { type Clock, systemClock } from "../effects/clock.ts";
import { type Line, LineCutter } from "../std/lines.ts";
import { Connection, type ConnectionOptions } from "./connection.ts";
import { failure, RPC, type RpcNews } from "./rpc.ts";

/** The longest message that is read. A plan that is longer can be given as a path. */
export const LINE_MAX = 4 * 1024 * 1024;

/** How long calls have to end by themselves once the input has ended, so that a script may pipe its requests in. */
const LINGER = millis(1_000);

export interface StdioOptions extends Omit<ConnectionOptions, "clock"> {
  /** This machine's when absent. */
  readonly clock?: Clock;
  readonly input: Readable;
  readonly output: Writable;
  /** Ends the server as the end of the input does. */
  readonly signal?: AbortSignal;
}

/** Serves until the input ends, the output breaks or the signal is aborted. Then nothing is renewed any more. */
export async function serveStdio(options: StdioOptions): Promise<void> {
  const { input, output, signal, clock = systemClock() } = options;
  const connection = new Connection({ ...options, clock });
  const over = new AbortController();
  const stop = (): void => {
    over.abort();
    input.destroy();
  };
  signal?.addEventListener("abort", stop, { once: true });
  // A client that has gone is no fault: it is how a connection ends.
  output.on("error", stop);
  output.on("close", stop);
  if (signal?.aborted) stop();

  const write = async (message: unknown): Promise<void> => {
    if (over.signal.aborted || output.destroyed) return;
    if (!output.write(`${JSON.stringify(message)}\n`))
      await once(output, "drain", { signal: over.signal }).catch(() => undefined);
  };
  const answer = async (line: Line): Promise<void> => {
    const reply = await answerTo(line, connection, (news) => void write(news));
    if (reply !== undefined) await write(reply);
  };

  const underway = new Set<Promise<void>>();
  try {
    for await (const line of linesOf(input)) {
      const answered = answer(line).finally(() => underway.delete(answered));
      underway.add(answered);
      // A client that does not read its answers is not read from either.
      if (output.writableNeedDrain) await once(output, "drain", { signal: over.signal });
    }
    await endOf(underway, clock, over.signal);
  } catch (error) {
    // The input broke: whoever was at the other end has gone.
    if (!over.signal.aborted && !isStreamError(error)) throw error;
  } finally {
    signal?.removeEventListener("abort", stop);
    await connection.close();
    await Promise.allSettled(underway);
    output.off("error", stop);
    output.off("close", stop);
  }
}

/** Kept when all have ended, when they have had their time, or when nobody listens any more. */
function endOf(calls: ReadonlySet<Promise<void>>, clock: Clock, gone: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = clock.at(later(clock.now(), LINGER), resolve);
    const done = (): void => {
      timer.cancel();
      resolve();
    };
    if (gone.aborted) done();
    gone.addEventListener("abort", done, { once: true });
    void (async () => {
      await Promise.allSettled(calls);
      done();
    })();
  });
}

async function* linesOf(input: Readable): AsyncGenerator<Line> {
  const cutter = new LineCutter(LINE_MAX);
  for await (const chunk of input) yield* cutter.push(Buffer.isBuffer(chunk) ? chunk : Buffer.from(String(chunk)));
  yield* cutter.end();
}

async function answerTo(line: Line, connection: Connection, send: (news: RpcNews) => void): Promise<unknown> {
  if ("tooLong" in line) return failure(null, RPC.parse, `A message is at most ${LINE_MAX} bytes long.`);
  const text = line.bytes.toString("utf8");
  if (text.trim() === "") return undefined;
  let raw: unknown;
  try {
    raw = JSON.parse(text);
  } catch {
    return failure(null, RPC.parse, "This is not JSON.");
  }
  return await connection.receive(raw, { send });
}

const isStreamError = (error: unknown): boolean => error instanceof Error && "code" in error;
