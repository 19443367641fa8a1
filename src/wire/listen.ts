/** Listens to a stream until the signal is aborted: after a restart of the daemon it connects again, and no message is missed. */
import { UserError } from "../domain/errors.ts";
import { later, millis } from "../domain/time.ts";
import type { Clock } from "../effects/clock.ts";
import { eventReader } from "./event-stream.ts";
import type { Transport } from "./transport.ts";

interface Listening {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** The position before the first message that the listener wants. */
  readonly after: number;
  readonly pathAfter: (after: number) => string;
  readonly take: (data: unknown) => void;
}

const DELAY_FIRST = 100;
const DELAY_MAX = 5_000;
/** A stream sends a sign of life every 15 seconds; after three missed ones it counts as broken. */
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
      // A message that arrives after the abort is not delivered.
      if (!signal.aborted) take(JSON.parse(data));
      if (id !== undefined) after = Number(id);
    });
    const headers = { accept: "text/event-stream" };
    const ask = {
      method: "GET",
      path: pathAfter(after),
      signal,
      repeatable: true,
      answerTimeout: SILENCE_MAX,
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

/** Resolves after the delay, or when the signal is aborted. */
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
