/**
 * One client's conversation with the agent's tools. How messages are read and answered is `@modelcontextprotocol/server`, from the
 * makers of the protocol; here is what it is to answer with.
 */
import {
  type CallToolRequest,
  type CallToolResult,
  CLIENT_INFO_META_KEY,
  type ListToolsResult,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ServerContext,
} from "@modelcontextprotocol/server";
import type { Authority } from "../domain/authority.ts";
import { type Millis, minutes } from "../domain/time.ts";
import { isMap } from "../std/schema.ts";
import { allows, SCOPES, type Scope } from "../wire/scope.ts";
import { Agent, type AgentProfile } from "./agent.ts";
import { callTool, type ToolDeps } from "./call.ts";
import { toolList } from "./tools.ts";

export interface ConnectionOptions extends ToolDeps {
  /** The program's own version. */
  readonly version: string;
  readonly profile?: AgentProfile;
  /** The caller's name in the ledger; the agent's name when absent. */
  readonly by?: string;
  /** What the client may do at the most; a caller with a token of its own may do what that allows. Everything when absent. */
  readonly scope?: Scope;
  /** See `AgentOptions`. */
  readonly authority?: Authority;
  /** How long the agent may say nothing before its leases are no longer renewed for it. */
  readonly silence?: Millis;
  /** See `AgentOptions`. */
  readonly isOrphan?: () => boolean;
  /** Whether anything is kept between requests. */
  readonly remembers?: boolean;
}

/** Long enough for any thought, short enough that a forgotten window does not hold a task overnight. */
const SILENCE = minutes(60);
/** Calls of one client at once: an agent has a few, a client gone wild has many. */
const CALLS_MAX = 64;
/** The list of tools changes only with the program, and is as long as the caller's scope allows. */
const KEPT = { ttlMs: 3_600_000, cacheScope: "private" } as const;

const INSTRUCTIONS =
  "Rota hands out tasks to agents. The loop: `claim_next`, do what it says in its directory, `progress` now and then, then `complete` or `fail`, and " +
  "`claim_next` again. A task that was claimed is yours alone until its lease ends; write only what it lists under `writes`. Heed notices first: " +
  "when told to stop a task, wind down and report with `fail`. Refusals say `CODE: message (what to do)`.";

export class Connection {
  readonly agent: Agent;
  readonly #options: ConnectionOptions;
  readonly #calls = new Set<Promise<unknown>>();

  constructor(options: ConnectionOptions) {
    this.#options = options;
    const { service, clock, profile = {}, by, authority, silence = SILENCE, remembers = true, isOrphan } = options;
    const caller = { ...(by !== undefined && { by }), ...(authority !== undefined && { authority }) };
    const orphan = isOrphan === undefined ? {} : { isOrphan };
    this.agent = new Agent({ service, clock, profile, silence, remembers, ...caller, ...orphan });
  }

  /** How many calls are underway. */
  get calls(): number {
    return this.#calls.size;
  }

  /**
   * What answers the client on one transport. `Server` and not `McpServer`, because arguments are read by our own schemas: these tell an agent
   * in its own words what to mend.
   */
  server(): Server {
    const server = new Server(
      { name: "rota", title: "Rota", version: this.#options.version },
      {
        capabilities: { tools: {} },
        instructions: INSTRUCTIONS,
        cacheHints: { "tools/list": KEPT, "server/discover": KEPT },
      },
    );
    server.setRequestHandler("tools/list", ({ params }, { http }) => {
      // All of them at once: there are too few for pages, so no client was ever given a cursor.
      if (params?.cursor !== undefined)
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, "There is no such page.");
      return { tools: toolList(this.#scopesOf(http)) } as ListToolsResult;
    });
    server.setRequestHandler("tools/call", async ({ params }, context) => {
      const envelope: Readonly<Record<string, unknown>> = context.mcpReq.envelope ?? {};
      this.#introduce(envelope[CLIENT_INFO_META_KEY] ?? server.getClientVersion());
      return await this.#counted(() => this.#call(params, context));
    });
    return server;
  }

  /** Kept when no call is underway any more. */
  async idle(): Promise<void> {
    while (this.#calls.size > 0) await Promise.allSettled(this.#calls);
  }

  /** Ends every renewal, and leaves the session if it holds nothing. Closing twice is harmless. */
  close(): Promise<void> {
    return this.agent.close();
  }

  /** Bounded here, because the library is not. */
  async #counted<T>(work: () => Promise<T>): Promise<T> {
    if (this.#calls.size >= CALLS_MAX)
      throw new ProtocolError(ProtocolErrorCode.InternalError, "Too many requests at once; wait for answers.");
    const call = work();
    this.#calls.add(call);
    try {
      return await call;
    } finally {
      this.#calls.delete(call);
    }
  }

  async #call(
    { name, arguments: given = {} }: CallToolRequest["params"],
    { mcpReq, http }: ServerContext,
  ): Promise<CallToolResult> {
    // Over HTTP a client that has gone is no cancellation to the library; but then the answer has no reader.
    const gone = http?.req?.signal;
    const signal = gone === undefined ? mcpReq.signal : AbortSignal.any([mcpReq.signal, gone]);
    const progressToken = mcpReq._meta?.progressToken;
    const scopes = this.#scopesOf(http);
    return (await callTool(
      { name, given },
      {
        signal,
        allows: (scope) => scopes.includes(scope),
        ...(progressToken !== undefined && {
          report: (progress: number, total: number, message: string) => {
            if (signal.aborted) return;
            const params = { progressToken, progress, total, message };
            void mcpReq.notify({ method: "notifications/progress", params }).catch(() => undefined);
          },
        }),
      },
      { ...this.#options, agent: this.agent },
    )) as CallToolResult;
  }

  #scopesOf(http: ServerContext["http"]): readonly string[] {
    const { scope: most = "admin" } = this.#options;
    return http?.authInfo?.scopes ?? SCOPES.filter((scope) => allows(most, scope));
  }

  #introduce(clientInfo: unknown): void {
    const name = isMap(clientInfo) ? clientInfo["name"] : undefined;
    if (typeof name === "string") this.agent.introduce(name);
  }
}
