/** The scheduler of a state directory, for other processes: its name, and how to notify it. */
import { closeSync, openSync, utimesSync } from "node:fs";
import { type Clock, systemClock } from "../../effects/clock.ts";
import type { StateDir } from "../config/state.ts";

/** The name of a daemon in the owner row. A daemon has taken up every run; any other scheduler has only its own run. */
export const SERVE = "rota serve";

/** Notifies the scheduler of this state directory, if there is one, of a request. */
export function ringBell({ bell }: StateDir, clock: Clock = systemClock()): void {
  closeSync(openSync(bell, "a", 0o600));
  const now = clock.now() / 1_000;
  utimesSync(bell, now, now);
}
