/** Who still schedules, of those that are on record. */
import { isAlive } from "../../effects/host.ts";
import { hostName } from "../../effects/machine.ts";
import type { Owner } from "../store.ts";

/** On another host its process cannot be looked at, so its word is taken: two schedulers at once would be worse than one too few. */
export const ownerLives = ({ host, process }: Owner): boolean => host !== hostName() || isAlive(process);
