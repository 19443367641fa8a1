/** How many tasks may run at once after the machine had no room to begin one more: fewer, and one more with each task that ends. */
import type { Event } from "../../domain/event.ts";
import { type Instant, instant, later, type Millis, millis, seconds } from "../../domain/time.ts";

export interface Shortness {
  /** How many tasks may run at once. */
  readonly allowed: number;
  /** Nothing is begun before. */
  readonly until: Instant;
  /** What the machine said. */
  readonly why: string;
  /** How long nothing was begun the last time. */
  readonly paused: Millis;
}

export const ENOUGH: Shortness = {
  allowed: Number.POSITIVE_INFINITY,
  until: instant(Number.NEGATIVE_INFINITY),
  why: "",
  paused: millis(0),
};

const PAUSE_FIRST = seconds(1);
const PAUSE_MAX = seconds(60);

/** The machine had no room for one more task beside the `running` ones. Tasks that were begun together are refused together, and count once. */
export function shortened(shortness: Shortness, running: number, at: Instant, why: string): Shortness {
  const allowed = Math.max(1, Math.min(shortness.allowed, running));
  if (at < shortness.until) return { ...shortness, allowed, why };
  const paused = millis(Math.min(PAUSE_MAX, Math.max(PAUSE_FIRST, 2 * shortness.paused)));
  return { allowed, until: later(at, paused), why, paused };
}

/** A task has run and ended: there may be room for one more. */
export function eased(shortness: Shortness, slots: number): Shortness {
  const allowed = shortness.allowed + 1;
  return allowed >= slots ? ENOUGH : { ...shortness, allowed, paused: millis(0) };
}

/** What follows from an event that ends an attempt, `running` others going on. */
export function afterEnd(shortness: Shortness, cause: Event, running: number, slots: number): Shortness {
  const outcome = "outcome" in cause && typeof cause.outcome === "object" ? cause.outcome : undefined;
  if (outcome?.kind === "shortage") return shortened(shortness, running, cause.at, outcome.message ?? "");
  return shortness === ENOUGH || outcome === undefined ? shortness : eased(shortness, slots);
}

/** What the events of a run say of the machine, for a look from outside: the newest are enough. */
export function recalled(events: readonly Event[], slots: number): Shortness {
  let running = 0;
  let shortness = ENOUGH;
  for (const event of events) {
    if (event.kind === "claimed") running++;
    if (!("outcome" in event)) continue;
    running = Math.max(0, running - 1);
    shortness = afterEnd(shortness, event, running, slots);
  }
  return shortness;
}
