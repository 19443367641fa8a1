/** The profile of the agent, as far as the place where its client is configured gives it. */
import { UserError, type UserErrorCode } from "../domain/errors.ts";
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
  return profileFrom(said, "the headers", "REQUEST_INVALID");
}

/** What was given of a profile. `where`: the place that gives it, and `code`: the error of a wrong part. */
export function profileFrom(
  said: { readonly [Part in keyof AgentProfile]: AgentProfile[Part] | undefined },
  where: string,
  code: UserErrorCode,
): AgentProfile {
  const given = Object.fromEntries(Object.entries(said).filter(([, value]) => value !== undefined));
  const problems = new Problems(where);
  JOIN.read(given, problems);
  const [first] = problems.list;
  if (first !== undefined) throw new UserError(code, first.message);
  return given;
}
