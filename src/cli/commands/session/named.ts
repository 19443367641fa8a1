/** The session that a command is about: the named one, else that of the environment. */
import { UserError } from "../../../domain/errors.ts";
import type { Context } from "../../frame/command.ts";

export const knownSession = (named: string | undefined, { env }: Pick<Context, "env">): string | undefined =>
  named ?? (env["ROTA_SESSION"] || undefined);

export function sessionOf(named: string | undefined, context: Pick<Context, "env">): string {
  const session = knownSession(named, context);
  if (session !== undefined && session !== "") return session;
  throw new UserError("USAGE", "Which session?", {
    hint: "Name it, or set ROTA_SESSION to what `rota session join` printed.",
  });
}
