/** The profile of the agent, as far as the headers of a request to the MCP endpoint give it. */
import { UserError } from "../domain/errors.ts";
import { Problems } from "../std/problems.ts";
import { JOIN } from "../wire/messages.ts";
import type { AgentProfile } from "./agent.ts";

/** Where the agent's client was told to say so: `Rota-Agent`, `Rota-Pool`, `Rota-Workspace`, `Rota-Capabilities`. */
export function profileOf(headers: Headers): AgentProfile {
  const capabilities = headers
    .get("rota-capabilities")
    ?.split(",")
    .map((each) => each.trim())
    .filter(Boolean);
  const said = {
    agent: headers.get("rota-agent") ?? undefined,
    pool: headers.get("rota-pool") ?? undefined,
    workspace: headers.get("rota-workspace") ?? undefined,
    capabilities,
  };
  const given = Object.fromEntries(Object.entries(said).filter(([, value]) => value !== undefined));
  const problems = new Problems("the headers");
  JOIN.read(given, problems);
  const [first] = problems.list;
  if (first !== undefined) throw new UserError("REQUEST_INVALID", first.message);
  return given;
}
