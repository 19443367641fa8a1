/** What other parts of the daemon serve on the same listeners, behind the same checks. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Scope } from "../wire/scope.ts";
import type { Caller } from "../wire/service.ts";

export interface Mount {
  /** The exact path, such as `/mcp`. */
  readonly path: string;
  readonly methods: readonly string[];
  /** What a token must allow before `handle` is called at all. */
  readonly scope: Scope;
  /**
   * Called when host, origin, token and scope have been checked. `body` is the parsed JSON of a POST and absent otherwise; `allows`
   * says whether the caller may do what needs that scope. The response is the mount's to end; what it throws is answered as an error.
   */
  handle(exchange: {
    readonly request: IncomingMessage;
    readonly response: ServerResponse;
    readonly body: unknown;
    /** Its signal is aborted when the peer goes away and when the server closes. */
    readonly caller: Caller & { readonly signal: AbortSignal };
    readonly allows: (scope: Scope) => boolean;
  }): Promise<void> | void;
}
