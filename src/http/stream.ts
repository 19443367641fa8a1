/** Server-sent events: what happens, as it happens, for as long as the listener stays. A listener that falls behind is disconnected, and resumes. */
import type { ServerResponse } from "node:http";
import { later, millis } from "../domain/time.ts";
import type { Clock, Timer } from "../effects/clock.ts";
import type { EventReply } from "../wire/answers.ts";
import { type EventsRequest, WAIT_MAX } from "../wire/messages.ts";
import type { Caller, Service } from "../wire/service.ts";
import type { Limits } from "./limits.ts";

const HEADERS = [
  ...["content-type", "text/event-stream", "cache-control", "no-store", "x-content-type-options", "nosniff"],
  // A proxy that buffers whole answers would keep this one for ever.
  ...["x-accel-buffering", "no"],
  // The connection ends with the stream, so closing the server need not wait for it.
  ...["connection", "close"],
];

/** How many events are read at once for a listener that catches up. */
const PAGE_EVENTS = 500;

type Listener = Caller & { readonly signal: AbortSignal };

interface StreamOptions {
  readonly clock: Clock;
  readonly limits: Limits;
}

/** The stream of one listener. */
class Stream {
  readonly #response: ServerResponse;
  readonly #options: StreamOptions;
  #pending = "";
  #beat: Timer | undefined;

  constructor(response: ServerResponse, options: StreamOptions) {
    this.#response = response;
    this.#options = options;
    response.writeHead(200, HEADERS);
    response.flushHeaders();
    response.once("close", () => this.#beat?.cancel());
    this.#arm();
  }

  /** Whether more is waiting to be sent than a listener may be behind. */
  get behind(): boolean {
    return this.#response.writableLength + this.#pending.length > this.#options.limits.followBytes;
  }

  /** Messages of the same moment become one write. */
  send(data: unknown, id?: number): void {
    if (this.#pending === "") queueMicrotask(() => this.#flush());
    // JSON has no line breaks, so one line is the whole of it.
    this.#pending += `${id === undefined ? "" : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`;
  }

  /** Resolves when everything was handed to the system, or when the listener is gone. */
  async drained(): Promise<void> {
    this.#flush();
    const response = this.#response;
    if (!response.writableNeedDrain || response.destroyed) return;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        response.off("drain", done).off("close", done);
        resolve();
      };
      response.once("drain", done).once("close", done);
    });
  }

  /** Lets what was sent arrive, but does not wait for it for ever. */
  end(): void {
    this.#flush();
    const response = this.#response;
    this.#beat?.cancel();
    if (response.writableEnded || response.destroyed) return;
    const { clock, limits } = this.#options;
    const alarm = clock.at(later(clock.now(), millis(limits.closeMs)), () => response.destroy());
    response.once("close", () => alarm.cancel());
    response.end();
  }

  #flush(): void {
    const text = this.#pending;
    this.#pending = "";
    if (text !== "" && !this.#response.writableEnded && !this.#response.destroyed) this.#response.write(text);
  }

  #arm(): void {
    const { clock, limits } = this.#options;
    this.#beat = clock.at(later(clock.now(), millis(limits.keepAliveMs)), () => {
      if (!this.behind) this.#response.write(": still here\n\n");
      this.#arm();
    });
  }
}

/**
 * First the events in the ledger, page by page and no faster than the listener reads; then new ones. An error before the
 * stream begins refuses the request like any other.
 */
export async function followEvents(
  response: ServerResponse,
  service: Service,
  request: EventsRequest,
  { signal }: Listener,
  options: StreamOptions,
): Promise<void> {
  const page = (after: number) => service.events({ ...request, follow: false, limit: PAGE_EVENTS, after });
  let events = await page(request.after);
  if (signal.aborted || response.destroyed) return;
  const stream = new Stream(response, options);
  let last = request.after;
  const tell = (event: EventReply): void => {
    last = event.seq;
    stream.send(event, event.seq);
  };
  try {
    for (;;) {
      for (const event of events) tell(event);
      await stream.drained();
      if (events.length < PAGE_EVENTS || signal.aborted) break;
      events = await page(last);
    }
    if (!signal.aborted) await followOn(stream, service, { ...request, after: last }, tell, signal);
  } finally {
    stream.end();
  }
}

async function followOn(
  stream: Stream,
  service: Service,
  request: EventsRequest,
  tell: (event: EventReply) => void,
  signal: AbortSignal,
): Promise<void> {
  const late = new AbortController();
  const either = AbortSignal.any([signal, late.signal]);
  const tellInTime = (event: EventReply): void => {
    if (either.aborted) return;
    tell(event);
    if (stream.behind) late.abort();
  };
  await service.follow(request, tellInTime, either);
}

/** One message for each wake. Nothing is replayed: the scheduler repeats a missed wake. */
export async function followWakes(
  response: ServerResponse,
  service: Service,
  session: string,
  caller: Listener,
  options: StreamOptions,
): Promise<void> {
  let wake = await service.wake(session, 0, caller);
  if (caller.signal.aborted || response.destroyed) return;
  const stream = new Stream(response, options);
  try {
    while (!caller.signal.aborted) {
      if (wake !== undefined) stream.send(wake);
      await stream.drained();
      if (caller.signal.aborted) break;
      wake = await service.wake(session, WAIT_MAX, caller);
    }
  } finally {
    stream.end();
  }
}
