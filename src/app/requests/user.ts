/** The person who asks, by the name in the record. */
import { userInfo } from "node:os";

export function userName(env: Readonly<Record<string, string | undefined>>): string {
  const named = plainName(env["USER"] ?? env["LOGNAME"] ?? "");
  if (named !== "") return named;
  try {
    return userInfo().username;
  } catch {
    return "unknown";
  }
}

const NAME_MAX = 128;

/** The environment may hold any text; a daemon accepts no name with control characters, and no longer name. */
const plainName = (named: string): string => named.replace(/\p{Cc}/gu, "").slice(0, NAME_MAX);
