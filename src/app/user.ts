/** Who asks, as the record names them. */
import { userInfo } from "node:os";

export function userName(env: Readonly<Record<string, string | undefined>>): string {
  const named = env["USER"] ?? env["LOGNAME"];
  if (named !== undefined && named !== "") return named;
  try {
    return userInfo().username;
  } catch {
    return "unknown";
  }
}
