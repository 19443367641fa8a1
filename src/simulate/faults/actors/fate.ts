/** How an attempt goes: decided by the seed, the task and the claim alone, whichever worker has it and at whatever time. */
import type { Outcome } from "../../../domain/outcome.ts";
import type { StopReason } from "../../../domain/task.ts";
import { type Millis, millis, seconds } from "../../../domain/time.ts";
import type { Chance } from "../seed/chance.ts";
import type { Faults } from "../seed/fault-kinds.ts";

export interface Fate {
  readonly lasts: Millis;
  readonly outcome: Outcome;
  /** From being started to running. */
  readonly toStart: Millis;
  /** From being asked to stop to having ended. */
  readonly toStop: Millis;
  /** It never ends by itself. */
  readonly hangs: boolean;
  /** It ends only when it is killed. */
  readonly isStubborn: boolean;
}

/** `attempt`: the fence, and which run of the acceptance command it is. */
export type FateOf = (task: string, attempt: number | string) => Fate;

const durationMs = millis(0);
const FAILURES: readonly Outcome[] = [
  { kind: "exit", code: 1, durationMs },
  { kind: "exit", code: 1, durationMs },
  { kind: "exit", code: 7, durationMs },
  { kind: "signal", signal: "SIGSEGV", durationMs },
  { kind: "spawn", message: "no such file", durationMs },
  { kind: "rate-limit", resetMs: seconds(3), durationMs },
  { kind: "rate-limit", durationMs },
  { kind: "auth", durationMs },
  { kind: "quota", durationMs },
  { kind: "refused", durationMs },
  { kind: "verify", code: 1, durationMs },
  { kind: "lost", durationMs },
];
const SUCCESS: Outcome = { kind: "success", durationMs };

export const fateOf =
  (chance: Chance, faults: Faults, isWell: () => boolean): FateOf =>
  (task, attempt) => {
    const own = chance.fork(`${task}/${attempt}`);
    const [lasts, toStart, toStop] = [own.span(200, 20_000), millis(own.whole(0, 30)), own.span(1, 8_000)];
    // In some runs every attempt is over before its start is on the disk.
    const isBrief = chance.fork(`brief ${task.slice(0, task.indexOf("/"))}`).flip(0.3);
    const brief = millis(own.fork("brief").whole(0, 40));
    const failure = own.pick(FAILURES);
    const [fails, hangs, isSlow, isStubborn] = [own.next(), own.next(), own.next(), own.next()];
    // When nothing fails any more, no attempt hangs; work that fails still fails as often as it may.
    const ends: Outcome = fails < (faults.fail ?? 0) * 0.7 ? failure : SUCCESS;
    const isBad = (dice: number, kind: "hang" | "slow"): boolean => dice < (faults[kind] ?? 0) * 0.4 && !isWell();
    return {
      lasts: isBad(isSlow, "slow") ? millis(lasts * 10) : isBrief ? brief : lasts,
      outcome: ends,
      toStart,
      toStop,
      hangs: isBad(hangs, "hang") && ends.kind !== "spawn",
      isStubborn: isBad(isStubborn, "hang"),
    };
  };

/** The outcome of an attempt that was stopped. */
export const stoppedWith = (reason: StopReason, lasted: Millis): Outcome =>
  reason.kind === "timeout"
    ? { kind: "timeout", limit: reason.limit, durationMs: lasted }
    : { kind: reason.kind, durationMs: lasted };
