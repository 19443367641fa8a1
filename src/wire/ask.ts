/** One call of a daemon, over HTTP or a line connection. */
import type { Method } from "./route.ts";

export interface Ask {
  readonly method: Method;
  /** With the query, where there is one. */
  readonly path: string;
  readonly body?: string;
  /** The caller, when the connection belongs to another one. */
  readonly by?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Whether the call may be repeated without harm: then a broken connection is no reason to give up. */
  readonly repeatable: boolean;
  /** How long the daemon may be silent, in milliseconds. */
  readonly answerTimeout: number;
  readonly headers?: Readonly<Record<string, string>>;
}

export const reasonOf = (signal: AbortSignal | undefined): Error =>
  signal?.reason instanceof Error ? signal.reason : new DOMException("The call was given up", "AbortError");
