/**
 * One client's conversation with the server, whatever carries it: messages go in, answers come out. Nothing a client sends can make
 * it throw, and every request is answered exactly once, unless the client itself cancelled it.
 */
import type { Authority } from "../domain/authority.ts";
import { type Millis, minutes } from "../domain/time.ts";
import { Agent, type AgentProfile } from "./agent.ts";
import { type Call, callTool, type Exchange, type ToolDeps } from "./call.ts";
import {
  failure,
  mapAt,
  type Params,
  RPC,
  type RpcId,
  RpcRefusal,
  type RpcReply,
  type RpcRequest,
  readMessage,
  success,
} from "./rpc.ts";
import { TOOL_LIST } from "./tools.ts";
import { agreeOn, carriedVersion, checkCarried, clientNameOf, META, mayBatch, VERSIONS } from "./versions.ts";

export interface ConnectionOptions extends ToolDeps {
  /** The program's own version. */
  readonly version: string;
  readonly profile?: AgentProfile;
  /** Who is named in the ledger; the agent when absent. */
  readonly by?: string;
  /** See `AgentOptions`. */
  readonly authority?: Authority;
  /** How long the agent may say nothing before its leases are no longer renewed for it. */
  readonly silence?: Millis;
  /** Whether anything is kept between requests. */
  readonly remembers?: boolean;
}

export type Answer = RpcReply | readonly RpcReply[];

/** Long enough for any thought, short enough that a forgotten window does not hold a task overnight. */
const SILENCE = minutes(60);
/** Calls of one client at once: an agent has a few, a client gone wild has many. */
const CALLS_MAX = 64;
const BATCH_MAX = 50;
/** The list of tools changes only with the program. */
const LIST_TTL_MS = 3_600_000;

const INSTRUCTIONS =
  "Rota hands out tasks to agents. The loop: `claim_next`, do what it says in its directory, `progress` now and then, then `complete` or `fail`, and " +
  "`claim_next` again. A task that was claimed is yours alone until its lease ends; write only what it lists under `writes`. Heed notices first: " +
  "when told to stop a task, wind down and report with `fail`. Refusals say `CODE: message (what to do)`.";

export class Connection {
  readonly agent: Agent;
  readonly #options: ConnectionOptions;
  readonly #calls = new Map<RpcId, AbortController>();
  /** What was agreed on in the opening. */
  #version: string | undefined;
  #closed = false;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    const { service, clock, profile = {}, by, authority, silence = SILENCE, remembers = true } = options;
    const caller = { ...(by !== undefined && { by }), ...(authority !== undefined && { authority }) };
    this.agent = new Agent({ service, clock, profile, silence, remembers, ...caller });
  }

  /** The answer to a message that has been parsed; nothing where none is due. */
  async receive(raw: unknown, exchange: Exchange = {}): Promise<Answer | undefined> {
    if (this.#closed) return undefined;
    return Array.isArray(raw) ? await this.#batch(raw, exchange) : await this.#one(raw, exchange);
  }

  /** Ends every call and every renewal. What is held is left to its lease. Closing twice is harmless. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    for (const call of this.#calls.values()) call.abort();
    await this.agent.close();
  }

  async #batch(raw: readonly unknown[], exchange: Exchange): Promise<Answer | undefined> {
    if (!mayBatch(this.#version)) return failure(null, RPC.request, "Batches are not part of this protocol version.");
    if (raw.length === 0 || raw.length > BATCH_MAX)
      return failure(null, RPC.request, `A batch has 1 to ${BATCH_MAX} messages.`);
    const replies = await Promise.all(raw.map((each) => this.#one(each, exchange)));
    const answered = replies.filter((reply) => reply !== undefined);
    return answered.length === 0 ? undefined : answered;
  }

  async #one(raw: unknown, exchange: Exchange): Promise<RpcReply | undefined> {
    const message = readMessage(raw);
    switch (message.kind) {
      case "mistake":
        return message.reply;
      case "notification":
        // All others, `notifications/initialized` among them, ask nothing of us.
        if (message.method === "notifications/cancelled") this.#cancel(message.params["requestId"]);
        return undefined;
      case "request":
        return await this.#answer(message, exchange);
      case "stray":
        return undefined;
    }
  }

  #cancel(id: unknown): void {
    if (typeof id === "string" || typeof id === "number") this.#calls.get(id)?.abort();
  }

  async #answer(request: RpcRequest, exchange: Exchange): Promise<RpcReply | undefined> {
    const { id } = request;
    if (this.#calls.has(id)) return failure(id, RPC.request, "A request with this id is still being answered.");
    if (this.#calls.size >= CALLS_MAX) return failure(id, RPC.fault, "Too many requests at once; wait for answers.");
    const call = new AbortController();
    const signal = exchange.signal === undefined ? call.signal : AbortSignal.any([call.signal, exchange.signal]);
    this.#calls.set(id, call);
    try {
      const result = await this.#serve(request, { ...exchange, signal });
      return signal.aborted ? undefined : success(id, result);
    } catch (error) {
      return signal.aborted ? undefined : this.#refusal(id, error);
    } finally {
      this.#calls.delete(id);
    }
  }

  #refusal(id: RpcId, error: unknown): RpcReply {
    if (error instanceof RpcRefusal) return failure(id, error.code, error.message, error.data);
    this.#options.onFault?.(error);
    return failure(id, RPC.fault, "Something is wrong with Rota itself.");
  }

  async #serve(request: RpcRequest, exchange: Call): Promise<object> {
    const { method, params } = request;
    if (carriedVersion(params) !== undefined) return await this.#serveStateless(method, params, exchange);
    if (method === "initialize") return this.#open(params);
    if (method === "ping") return {};
    if (this.#version === undefined)
      throw new RpcRefusal(
        RPC.params,
        `Send \`initialize\` first, or say \`_meta["${META.version}"]\` in each request.`,
      );
    if (method === "tools/list") return listTools(params);
    if (method === "tools/call") return await this.#call(params, exchange);
    throw unknownMethod(method);
  }

  /** A request that says everything about itself, as revisions since 2026-07-28 have it. */
  async #serveStateless(method: string, params: Params, exchange: Call): Promise<object> {
    checkCarried(params);
    this.#introduce(mapAt(params, "_meta")[META.clientInfo]);
    const complete = (result: object): object => ({
      resultType: "complete",
      ...result,
      _meta: { [META.serverInfo]: this.#serverInfo() },
    });
    const kept = { ttlMs: LIST_TTL_MS, cacheScope: "public" };
    if (method === "server/discover")
      return complete({
        supportedVersions: VERSIONS,
        capabilities: { tools: {} },
        instructions: INSTRUCTIONS,
        ...kept,
      });
    if (method === "tools/list") return complete({ ...listTools(params), ...kept });
    if (method === "tools/call") return complete(await this.#call(params, exchange));
    throw unknownMethod(method);
  }

  #open(params: Params): object {
    const wanted = params["protocolVersion"];
    if (typeof wanted !== "string") throw new RpcRefusal(RPC.params, "`protocolVersion` must be text.");
    this.#version = agreeOn(wanted);
    this.#introduce(params["clientInfo"]);
    return {
      protocolVersion: this.#version,
      capabilities: { tools: {} },
      serverInfo: this.#serverInfo(),
      instructions: INSTRUCTIONS,
    };
  }

  #call(params: Params, exchange: Call): Promise<object> {
    return callTool(params, exchange, { ...this.#options, agent: this.agent });
  }

  #introduce(clientInfo: unknown): void {
    const name = clientNameOf(clientInfo);
    if (name !== undefined) this.agent.introduce(name);
  }

  #serverInfo = (): object => ({ name: "rota", title: "Rota", version: this.#options.version });
}

/** All of them at once: there are too few for pages, so nobody was ever given a cursor. */
function listTools(params: Params): object {
  if (params["cursor"] !== undefined) throw new RpcRefusal(RPC.params, "There is no such page.");
  return { tools: TOOL_LIST };
}

const unknownMethod = (method: string): RpcRefusal =>
  new RpcRefusal(RPC.method, `Method not found: ${method.slice(0, 100)}`);
