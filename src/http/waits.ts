/** The calls that wait. They end when their peer goes away, and all of them when the server closes. */
import type { ServerResponse } from "node:http";

export class Waits {
  readonly #open = new Set<AbortController>();
  #closing = false;

  get closing(): boolean {
    return this.#closing;
  }

  /** The signal is aborted when the response can no longer be sent, or need not wait any more. */
  begin(response: ServerResponse): AbortSignal {
    const controller = new AbortController();
    if (this.#closing) controller.abort();
    this.#open.add(controller);
    response.once("close", () => {
      this.#open.delete(controller);
      // After an answer nobody waits, and what the service keeps for the signal would only be woken for nothing.
      if (!response.writableFinished) controller.abort();
    });
    return controller.signal;
  }

  endAll(): void {
    this.#closing = true;
    for (const controller of this.#open) controller.abort();
  }
}
