/** The tokens that were issued, without their secrets. */

import type { Instant } from "../../domain/time.ts";
import type { TokenReply } from "../../wire/replies/daemon.ts";
import { momentOf } from "../status/workers.ts";
import { type Line, paintAll, quiet, type Theme, table, toned } from "../text/line.ts";
import { age } from "../text/moment.ts";

export function tokensText(
  tokens: readonly TokenReply[],
  { columns, now }: { readonly columns: number; readonly now: Instant },
  theme: Theme,
): string[] {
  const rows = tokens.map(({ id, name, scope, created_at, ...token }): Line[] => [
    [id],
    [name],
    [quiet(scope)],
    [quiet(`issued ${age(momentOf(created_at), now)} ago`)],
    [fateOf(token, now)],
  ]);
  const lines = table(rows, { columns: [{}, { shrinkTo: 12 }, {}, {}, {}], width: columns, indent: 0 });
  return paintAll(lines, theme, columns);
}

function fateOf({ expires_at, revoked_at }: Pick<TokenReply, "expires_at" | "revoked_at">, now: Instant) {
  if (revoked_at !== undefined) return toned("warn", "revoked");
  if (expires_at === undefined) return quiet("does not expire");
  const end = momentOf(expires_at);
  return end <= now ? toned("warn", "expired") : quiet(`expires in ${age(now, end)}`);
}
