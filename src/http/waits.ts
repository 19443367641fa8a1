/** The calls that wait. A wait ends when its peer goes away, and all of them end when the server closes. */
import type { ServerResponse } from "node:http";

export interface OpenWait {
  readonly signal: AbortSignal;
  /** The caller does not want the answer any more. */
  readonly giveUp: () => void;
  /** The call was answered: its signal is not aborted any more. */
  readonly over: () => void;
}

export class Waits {
  readonly #open = new Set<AbortController>();
  #closing = false;

  get closing(): boolean {
    return this.#closing;
  }

  /** The signal is aborted when the response can no longer be sent, or when the server closes. */
  begin(response: ServerResponse): AbortSignal {
    const { signal, giveUp, over } = this.open();
    response.once("close", () => {
      over();
      if (!response.writableFinished) giveUp();
    });
    return signal;
  }

  /** As `begin`, for a caller that reports the end of the call itself. */
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
