/** How often a command that follows looks at what the system does not watch: the setting `pollInterval`. */
import type { Millis } from "../../domain/time.ts";
import type { Surroundings } from "./command.ts";

export async function pollInterval({ env, cwd }: Pick<Surroundings, "env" | "cwd">): Promise<Millis> {
  const { loadConfig } = await import("../../app/config/config.ts");
  return (await loadConfig({ cwd, env, flags: {} })).values.pollInterval;
}
