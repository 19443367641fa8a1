/** What the headers of a request to the MCP endpoint say, and whether the body says the same. */
import { Problems } from "../std/problems.ts";
import { JOIN } from "../wire/messages.ts";
import type { AgentProfile } from "./agent.ts";
import { type Params, RPC, RpcRefusal } from "./rpc.ts";
import { carriedVersion, isStateless } from "./versions.ts";

export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** The header by its name in lower case; of several the first. */
export function headerOf(headers: Headers, name: string): string | undefined {
  const found = headers[name];
  return typeof found === "object" ? found[0] : found;
}

/** Whether the request is of a revision without an opening, by its body or by its header. */
export const isStatelessRequest = (headers: Headers, params: Params): boolean =>
  carriedVersion(params) !== undefined || isStateless(headerOf(headers, "mcp-protocol-version"));

/** Whoever routes by the headers must not be told otherwise than who serves by the body. */
export function checkHeaders(headers: Headers, method: unknown, params: Params): void {
  mustMatch(headers, "mcp-protocol-version", carriedVersion(params));
  mustMatch(headers, "mcp-method", method);
  if (method === "tools/call") mustMatch(headers, "mcp-name", params["name"]);
}

function mustMatch(headers: Headers, name: string, value: unknown): void {
  const given = headerOf(headers, name);
  if (given === undefined) throw new RpcRefusal(RPC.headers, `Header mismatch: ${name} is missing.`);
  if (decoded(given) !== value)
    throw new RpcRefusal(RPC.headers, `Header mismatch: ${name} does not say what the body does.`);
}

/** A value that is not plain ASCII is wrapped: `=?base64?…?=`. */
function decoded(value: string): string {
  const wrapped = /^=\?base64\?(.*)\?=$/.exec(value)?.[1];
  return wrapped === undefined ? value : Buffer.from(wrapped, "base64").toString("utf8");
}

/** Who the agent is, where its client was told to say so: `Rota-Agent`, `Rota-Pool`, `Rota-Workspace`, `Rota-Capabilities`. */
export function profileOf(headers: Headers): AgentProfile {
  const capabilities = headerOf(headers, "rota-capabilities")
    ?.split(",")
    .map((each) => each.trim())
    .filter(Boolean);
  const said = {
    agent: headerOf(headers, "rota-agent"),
    pool: headerOf(headers, "rota-pool"),
    workspace: headerOf(headers, "rota-workspace"),
    capabilities,
  };
  const given = Object.fromEntries(Object.entries(said).filter(([, value]) => value !== undefined));
  const problems = new Problems("the headers");
  JOIN.read(given, problems);
  const [first] = problems.list;
  if (first !== undefined) throw new RpcRefusal(RPC.params, first.message);
  return given;
}
