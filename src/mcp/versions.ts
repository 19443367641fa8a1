/**
 * The revisions of MCP that are spoken here.
 *
 * Up to 2025-11-25 a client opens with `initialize`, and what was agreed holds for the connection. From 2026-07-28 on there is no
 * opening: every request says its version and who sends it, in `_meta`. Both are served at once, each request by its own rules.
 */
import { isMap } from "../std/schema.ts";
import { mapAt, type Params, RPC, RpcRefusal } from "./rpc.ts";

/** With an opening, newest first. */
const OPENED_VERSIONS = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] as const;
/** Without one: each request stands for itself. */
const STATELESS_VERSIONS = ["2026-07-28"] as const;
export const VERSIONS: readonly string[] = [...STATELESS_VERSIONS, ...OPENED_VERSIONS];

/** The only revision that had batches; those before did not mention them, those after forbid them. */
const BATCHING = "2025-03-26";

export const META = {
  version: "io.modelcontextprotocol/protocolVersion",
  clientInfo: "io.modelcontextprotocol/clientInfo",
  clientCapabilities: "io.modelcontextprotocol/clientCapabilities",
  serverInfo: "io.modelcontextprotocol/serverInfo",
} as const;

const NEWEST_OPENED: string = OPENED_VERSIONS[0];

/** What is spoken after an `initialize` that asked for `wanted`: that, or the newest there is, which the client may refuse. */
export const agreeOn = (wanted: string): string =>
  OPENED_VERSIONS.find((version) => version === wanted) ?? NEWEST_OPENED;

export const mayBatch = (version: string | undefined): boolean => version === BATCHING;

export const isKnown = (version: string): boolean => VERSIONS.includes(version);
export const isStateless = (version: unknown): boolean => STATELESS_VERSIONS.some((known) => known === version);

/** The version a request carries with it; nothing when it relies on an opening. */
export const carriedVersion = (params: Params): unknown => mapAt(params, "_meta")[META.version];

/** Refuses a request that speaks for itself but not in a way that is understood here. */
export function checkCarried(params: Params): void {
  const meta = mapAt(params, "_meta");
  const version = meta[META.version];
  if (typeof version !== "string") throw new RpcRefusal(RPC.params, `\`_meta["${META.version}"]\` must be text.`);
  if (!isStateless(version))
    throw new RpcRefusal(RPC.version, "Unsupported protocol version", { supported: VERSIONS, requested: version });
  if (!isMap(meta[META.clientCapabilities]))
    throw new RpcRefusal(RPC.params, `\`_meta["${META.clientCapabilities}"]\` must be an object.`);
}

/** How the client calls itself: in the opening, or in the request. */
export function clientNameOf(info: unknown): string | undefined {
  const name = isMap(info) ? info["name"] : undefined;
  return typeof name === "string" && name !== "" ? name : undefined;
}
