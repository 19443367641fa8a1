/** The scheduler of a state directory, seen from outside: whether it lives, and how to call it. */
import { closeSync, openSync, utimesSync } from "node:fs";
import { type Clock, systemClock } from "../effects/clock.ts";
import { isAlive } from "../effects/host.ts";
import { hostName } from "../effects/machine.ts";
import type { Owner } from "../store/store.ts";
import type { StateDir } from "./state.ts";

/** How a daemon is written down as owner. It has taken up every run there is; any other scheduler has its own run alone. */
export const SERVE = "rota serve";

/** On another host we cannot look, so its word is taken: two schedulers at once would be worse than one too few. */
export const lives = (owner: Owner): boolean => owner.host !== hostName() || isAlive(owner.process);

/** Tells the scheduler of this state directory, if there is one, that there is a request for it. */
export function ringBell({ bell }: StateDir, clock: Clock = systemClock()): void {
  closeSync(openSync(bell, "a", 0o600));
  const now = clock.now() / 1_000;
  utimesSync(bell, now, now);
}
