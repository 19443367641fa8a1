/** The scheduler of a state directory, seen from outside: what it is called, and how to tell it something. */
import { closeSync, openSync, utimesSync } from "node:fs";
import { type Clock, systemClock } from "../effects/clock.ts";
import type { StateDir } from "./state.ts";

/** How a daemon is written down as owner. It has taken up every run there is; any other scheduler has its own run alone. */
export const SERVE = "rota serve";

/** Tells the scheduler of this state directory, if there is one, that there is a request for it. */
export function ringBell({ bell }: StateDir, clock: Clock = systemClock()): void {
  closeSync(openSync(bell, "a", 0o600));
  const now = clock.now() / 1_000;
  utimesSync(bell, now, now);
}
