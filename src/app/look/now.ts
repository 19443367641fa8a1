/** The time, for commands that say how long ago something was. */
import type { Instant } from "../../domain/time.ts";
import { systemClock } from "../../effects/clock.ts";

export const currentTime = (): Instant => systemClock().now();
