/** Whether the owner on record still schedules. */
import { isAlive } from "../../../effects/host.ts";
import { hostName } from "../../../effects/machine.ts";
import type { Owner } from "../../store.ts";

/** The process of an owner on another host cannot be checked, so that owner is believed: two schedulers at once would be worse than none. */
export const ownerLives = ({ host, process }: Owner): boolean => host !== hostName() || isAlive(process);
