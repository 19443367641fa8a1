/** The program that started a client of ours, such as the launcher of an agent: an agent that outlives it may have been given up. */
import { parentOf } from "../../effects/host.ts";

/** Says whether the parent that the process has now has gone since. Where parents cannot be known it never has. */
export function launcherGone(pid: number): () => boolean {
  const launcher = parentOf(pid);
  return () => launcher !== undefined && parentOf(pid) !== launcher;
}
