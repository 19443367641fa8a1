/** One call of a daemon, however it is brought there. */
import type { Method } from "./route.ts";

export interface Ask {
  readonly method: Method;
  /** With the query, where there is one. */
  readonly path: string;
  readonly body?: string;
  /** Who calls, when it is not whoever connected. */
  readonly by?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Asking twice does no harm, so a connection that broke is no reason to give up. */
  readonly repeatable: boolean;
  /** How long the other side may be silent, in milliseconds. */
  readonly patience: number;
  readonly headers?: Readonly<Record<string, string>>;
}

export const reasonOf = (signal: AbortSignal | undefined): Error =>
  signal?.reason instanceof Error ? signal.reason : new DOMException("The call was given up", "AbortError");
