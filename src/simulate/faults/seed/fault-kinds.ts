/** What can go wrong, and how much of it does under a seed: some kinds often, others not at all, so that each kind meets every other. */
import type { Chance } from "./chance.ts";

export const FAULT_KINDS = [
  "crash",
  "usurp",
  "freeze",
  "jump",
  "back",
  "drift",
  "full",
  "fsync",
  "sluggish",
  "delay",
  "drop",
  "duplicate",
  "partition",
  "fail",
  "hang",
  "slow",
  "vanish",
  "desert",
  "zombie",
  "hook",
  "meddle",
  "forge",
  "power",
] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

/** For people: what each kind does. */
export const FAULTS: Readonly<Record<FaultKind, string>> = {
  crash: "the scheduler is killed, also when work has just ended or it has just come back, and started again",
  usurp: "a second scheduler takes the store over while the first one lives",
  freeze: "the scheduler is stopped for a while, and goes on",
  jump: "the scheduler's clock is set forward",
  back: "the clock is set back between two schedulers",
  drift: "clocks run too fast or too slow",
  full: "the disk is full for a while",
  fsync: "a write or a sync fails, and may have been written or not",
  sluggish: "the disk takes up to fifteen seconds",
  delay: "messages are late, and overtake each other",
  drop: "messages are lost",
  duplicate: "messages arrive twice",
  partition: "sessions are cut off, in one direction or both",
  fail: "work fails",
  hang: "work never ends by itself, or does not want to be stopped",
  slow: "work takes much longer than it should",
  vanish: "processes are gone without a trace when the scheduler dies",
  desert: "sessions die, and come back as if they were new",
  zombie: "sessions stand still for longer than their leases, and go on",
  hook: "no session can be woken, and no worker can be started",
  meddle: "people pause, resume, cancel, put back, approve, change and drain",
  forge: "a caller reports on a task that it does not hold",
  power:
    "the power goes: schedulers and processes end, and the disk has what was synced, and of the rest whichever parts made it",
};

/** How much there is of each kind, from a little to 1; absent kinds do not happen. */
export type Faults = Readonly<Partial<Record<FaultKind, number>>>;

const QUIET_ODDS = 0.05;
/** Odds that a kind is part of a seed at all. */
const KIND_ODDS = 0.4;

export function faultsOf(chance: Chance): Faults {
  const faults: Partial<Record<FaultKind, number>> = {};
  const isQuiet = chance.flip(QUIET_ODDS);
  for (const kind of FAULT_KINDS) {
    const [isPart, amount] = [chance.flip(KIND_ODDS), chance.next()];
    if (isPart && !isQuiet) faults[kind] = 0.05 + 0.95 * amount * amount;
  }
  return faults;
}
