/** What other parts of the daemon serve on the same listeners, behind the same checks. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Scope } from "../wire/scope.ts";
import type { Caller } from "../wire/service.ts";

export interface Mount {
  /** The exact path, such as `/mcp`. */
  readonly path: string;
  readonly methods: readonly string[];
  /** The scope that a token must have before `handle` is called at all. */
  readonly scope: Scope;
  /**
   * Called when host, origin, token and scope have been checked. `body` is the parsed JSON of a POST and absent otherwise; `allows`
   * says whether the caller has a scope. `handle` ends the response; an error that it throws becomes the answer.
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
