/** The calls that wait. They end when their peer goes away, and all of them when the server closes. */
import type { ServerResponse } from "node:http";

export interface OpenWait {
  readonly signal: AbortSignal;
  /** Nobody wants the answer any more. */
  readonly giveUp: () => void;
  /** It was answered. What the service keeps for the signal is not woken for nothing. */
  readonly over: () => void;
}

export class Waits {
  readonly #open = new Set<AbortController>();
  #closing = false;

  get closing(): boolean {
    return this.#closing;
  }

  /** The signal is aborted when the response can no longer be sent, or need not wait any more. */
  begin(response: ServerResponse): AbortSignal {
    const { signal, giveUp, over } = this.open();
    response.once("close", () => {
      over();
      if (!response.writableFinished) giveUp();
    });
    return signal;
  }

  /** As `begin`, for whoever says by itself when it is over. */
  open(): OpenWait {
    const controller = new AbortController();
    if (this.#closing) controller.abort();
    this.#open.add(controller);
    return {
      signal: controller.signal,
      giveUp: () => controller.abort(),
      over: () => void this.#open.delete(controller),
    };
  }

  endAll(): void {
    this.#closing = true;
    for (const controller of this.#open) controller.abort();
  }
}
