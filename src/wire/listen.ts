/** Listens to a stream for as long as it is wanted: a daemon that goes away and comes back is found again, and nothing is missed. */
import { UserError } from "../domain/errors.ts";
import { later, millis } from "../domain/time.ts";
import type { Clock } from "../effects/clock.ts";
import { eventReader } from "./event-stream.ts";
import type { Transport } from "./transport.ts";

interface Listening {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** The position before the first message that is wanted. */
  readonly after: number;
  readonly pathAfter: (after: number) => string;
  readonly take: (data: unknown) => void;
}

const DELAY_FIRST = 100;
const DELAY_MAX = 5_000;
/** A stream says that it lives every 15 seconds; three of those missed are enough. */
const SILENCE_MAX = 45_000;

/** Rejected when the daemon refuses, or was never there. */
export async function listen({ transport, clock, signal, pathAfter, take, ...start }: Listening): Promise<void> {
  let { after } = start;
  let delay = DELAY_FIRST;
  let heard = false;
  const opened = (): void => {
    heard = true;
    delay = DELAY_FIRST;
  };
  while (!signal.aborted) {
    const read = eventReader(({ data, id }) => {
      // What was given up is not told any more.
      if (!signal.aborted) take(JSON.parse(data));
      if (id !== undefined) after = Number(id);
    });
    const headers = { accept: "text/event-stream" };
    const ask = {
      method: "GET",
      path: pathAfter(after),
      signal,
      repeatable: true,
      patience: SILENCE_MAX,
      headers,
    } as const;
    try {
      await transport.listen(ask, read, opened);
    } catch (error) {
      if (signal.aborted) return;
      if (!(heard && mayPass(error))) throw error;
    }
    await nap(clock, delay, signal);
    delay = Math.min(delay * 2, DELAY_MAX);
  }
}

const PASSING: readonly string[] = ["DAEMON_MISSING", "DAEMON_STOPPING", "LOCKED_OUT"];
const mayPass = (error: unknown): boolean => error instanceof UserError && PASSING.includes(error.code);

/** Kept after the delay, or when the signal is aborted. */
function nap(clock: Clock, delay: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const wake = (): void => {
      alarm.cancel();
      signal.removeEventListener("abort", wake);
      resolve();
    };
    const alarm = clock.at(later(clock.now(), millis(delay)), wake);
    signal.addEventListener("abort", wake, { once: true });
  });
}
