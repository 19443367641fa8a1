/**
 * MCP over two streams, one message a line: how a client talks to a server that it started itself. Nothing but messages is ever
 * written to `output`.
 */
import { once } from "node:events";
import { type Readable, Transform, type Writable } from "node:stream";
import { StdioServerTransport, serveStdio as serveProtocol } from "@modelcontextprotocol/server/stdio";
import { later, type Millis, seconds } from "../domain/time.ts";
import { type Clock, systemClock } from "../effects/clock.ts";
import { Connection, type ConnectionOptions } from "./connection.ts";
import { withArguments } from "./given.ts";

/** How long calls have to end by themselves once the input has ended, so that a script may pipe its requests in. */
const LINGER = seconds(1);
/** How long the daemon has to take back what no client was given, and to let the session go: clients kill what does not end soon. */
const LEAVE_MAX = seconds(3);

export interface StdioOptions extends Omit<ConnectionOptions, "clock"> {
  /** This machine's when absent. */
  readonly clock?: Clock;
  readonly input: Readable;
  readonly output: Writable;
  /** Ends the server as the end of the input does. */
  readonly signal?: AbortSignal;
}

/** Serves until the input ends, the output breaks or the signal is aborted. The session is left before this returns. */
export async function serveStdio(options: StdioOptions): Promise<void> {
  const { input, output, signal, clock = systemClock() } = options;
  const connection = new Connection({ ...options, clock });
  const over = new AbortController();
  const stop = (): void => over.abort();
  const broken = (): void => {
    if (!input.readableEnded) stop();
  };
  signal?.addEventListener("abort", stop, { once: true });
  // A client that has gone is no fault: it is how a connection ends.
  for (const event of ["error", "close"]) output.on(event, stop);
  for (const event of ["error", "close"]) input.on(event, broken);

  const wire = new StdioServerTransport(input.pipe(gate(connection, output, over.signal, clock)), output);
  const protocol = serveProtocol(() => connection.server(), { transport: wire });
  const { onmessage, onclose } = wire;
  wire.onmessage = (message) => onmessage?.(withArguments(message) as typeof message);
  wire.onclose = () => {
    onclose?.();
    stop();
  };
  await aborted(signal?.aborted === true ? signal : over.signal);
  await protocol.close();
  input.destroy();
  await atMost(
    LEAVE_MAX,
    connection.idle().then(() => connection.close()),
    clock,
  );
  signal?.removeEventListener("abort", stop);
  for (const event of ["error", "close"]) output.off(event, stop);
}

/**
 * Lets the input through to the library, which would go on reading while its answers pile up, and would drop what it has not answered
 * when the input ends.
 */
function gate(connection: Connection, output: Writable, over: AbortSignal, clock: Clock): Transform {
  const passOn = async (done: () => void): Promise<void> => {
    await turn(clock);
    if (output.writableNeedDrain) await once(output, "drain", { signal: over }).catch(() => undefined);
    done();
  };
  const end = async (done: () => void): Promise<void> => {
    await turn(clock);
    await atMost(LINGER, connection.idle(), clock, over);
    done();
  };
  return new Transform({
    transform(chunk, _, done) {
      this.push(chunk);
      void passOn(done);
    },
    flush(done) {
      // Also what has no line break behind it is a message.
      this.push("\n");
      void end(done);
    },
  });
}

/** What was read is answered, as far as it needs no other program. */
const turn = (clock: Clock): Promise<void> => new Promise((resolve) => clock.soon(resolve));

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });

/** Kept when the work has ended, when it has had its time, or when the client waits for it no longer. */
async function atMost(span: Millis, work: Promise<unknown>, clock: Clock, over?: AbortSignal): Promise<void> {
  const enough = Promise.withResolvers<void>();
  const timer = clock.at(later(clock.now(), span), enough.resolve);
  await Promise.race([work.catch(() => undefined), enough.promise, ...(over === undefined ? [] : [aborted(over)])]);
  timer.cancel();
}
