/** Why a task waits, in words: a phrase for lists, a sentence for one task, and an object for programs. */

import { formatBytes } from "../../domain/amounts/size.ts";
import { describeOutcome } from "../../domain/outcome.ts";
import type { ParkReason } from "../../domain/task.ts";
import { between, formatDuration, type Instant } from "../../domain/time.ts";
import type {
  Holder,
  RateShortage,
  Shortage,
  Some,
  TaskGlimpse,
  Wait,
  WaitReason,
} from "../../domain/waiting/explanation.ts";
import { unreachable } from "../../std/invariant.ts";
import type { GlimpseReply, WaitReply } from "../../wire/replies/wait.ts";
import { outcomeJson } from "../report/outcome.ts";
import { age, iso, plural } from "../text/moment.ts";

/** The words for each reason. */
const REASON_TITLES: Readonly<Record<WaitReason, string>> = {
  needs: "for other tasks",
  gate: "for approval",
  paused: "paused",
  offered: "offered to a session",
  "backing-off": "backing off",
  "no-match": "impossible here",
  backpressure: "held back, the queue is full",
  shortage: "the machine is short",
  "breaker-open": "for a service that fails",
  "same-key": "for the same key",
  hazard: "for files",
  "rate-limited": "for a rate to fill up",
  resources: "for resources",
  capacity: "for a worker",
  parked: "parked",
};

/** The title of one wait, where the reason alone is not enough. */
export const waitTitle = (wait: Wait): string =>
  (wait.reason === "no-match" || wait.reason === "capacity") && wait.pool !== undefined
    ? "for a session"
    : REASON_TITLES[wait.reason];

const PARK_WORDS: Readonly<Record<ParkReason, string>> = {
  poison: "its workers died again and again",
  starved: "no session came for it",
  attention: "its failure needs a person",
};

/** A few words for a list, without the subject: `for build, lint and 3 more`. */
export function waitPhrase(wait: Wait, now: Instant): string {
  switch (wait.reason) {
    case "needs":
      return `needs ${names(wait.blockers, ({ task }) => task, 2)}`;
    case "gate":
      return `needs approval: ${wait.prompt}`;
    case "paused":
      return `paused by ${wait.asked.by}`;
    case "offered":
      return `kept for ${wait.session} for another ${formatDuration(between(now, wait.until))}`;
    case "backing-off":
      return `tries again in ${formatDuration(between(now, wait.until))}`;
    case "no-match":
      if (wait.pool !== undefined) return noSessionPhrase(wait, wait.pool);
      return [
        ...(wait.missing.length > 0 ? [`no worker has ${wait.missing.join(", ")}`] : []),
        ...wait.tooMuch.map(tooMuchPhrase),
      ].join(", ");
    case "same-key":
      return `its key is with ${wait.holder.task} of run ${wait.run}`;
    case "hazard":
      return `${wait.path} is ${holds(wait.holder)} ${wait.holder.task}`;
    case "backpressure":
      return `${pressureNumbers(wait)}: ${wait.deferred ? "more urgent work first" : `only ${wait.allowed} at once`}`;
    case "shortage":
      return `${wait.why}: ${wait.allowed} at once for now`;
    case "breaker-open":
      return `${wait.provider} failed ${plural(wait.failures, "time")}${wait.until === undefined ? ", being tried" : `, tried again in ${formatDuration(between(now, wait.until))}`}`;
    case "rate-limited":
      return `${wait.rates.map(({ name, asked, level }) => `${name}: asks ${asked}, ${Math.floor(level)} there`).join("; ")}, filled in ${formatDuration(between(now, wait.until))}`;
    case "resources":
      if (wait.reservedFor !== undefined) return `kept for ${wait.reservedFor.task}`;
      return wait.short
        .map(({ name, asked, free }) => `${name}: asks ${amount(name, asked)}, ${amount(name, free)} free`)
        .join("; ");
    case "capacity":
      if (wait.workers === 0) return "no scheduler is running";
      if (wait.pool !== undefined) return sessionsPhrase(wait, wait.pool);
      return wait.idle > 0
        ? "about to start"
        : wait.workers === 1
          ? "the only worker busy"
          : `all ${wait.workers} workers busy`;
    case "parked":
      return PARK_WORDS[wait.why];
    default:
      return unreachable(wait);
  }
}

type NoMatch = Extract<Wait, { reason: "no-match" }>;
type Capacity = Extract<Wait, { reason: "capacity" }>;

function noSessionPhrase({ missing, sessions = 0 }: NoMatch, pool: string): string {
  if (sessions === 0) return `no session has joined pool ${pool}`;
  if (missing.length > 0) return `no session of pool ${pool} has ${missing.join(", ")}`;
  return `no session of pool ${pool} may take it`;
}

const sessionsPhrase = ({ idle, workers }: Capacity, pool: string): string =>
  idle > 0
    ? `no session of pool ${pool} has claimed it: ${idle} of ${workers} idle`
    : `every session of pool ${pool} that may take it is busy`;

const tooMuchPhrase = ({ name, asked, capacity }: { name: string; asked: number; capacity: number }): string =>
  `asks for ${amount(name, asked)} ${name} but there is ${capacity === 0 ? "none" : `only ${amount(name, capacity)}`}`;

/** A whole sentence about the task, without its name: `waits for 2 tasks: build (running for 12s), lint (ready)`. */
export function waitSentence(wait: Wait, now: Instant): string {
  switch (wait.reason) {
    case "needs":
      return `waits for ${plural(wait.blockers.total, "task")}: ${names(wait.blockers, (each) => glimpsePhrase(each, now), 5)}.`;
    case "gate":
      return `waits for a person to approve it: ${wait.prompt}`;
    case "paused":
      return `is paused by ${wait.asked.by}${wait.asked.why === undefined ? "" : `: ${wait.asked.why}`}.`;
    case "offered":
      return `was offered to session ${wait.session}, and is kept for it for another ${formatDuration(between(now, wait.until))}.`;
    case "backing-off": {
      const after = wait.after === undefined ? "its last attempt" : `its last attempt (${describeOutcome(wait.after)})`;
      return `backs off after ${after}, and may go again in ${formatDuration(between(now, wait.until))}.`;
    }
    case "no-match":
      if (wait.pool !== undefined) {
        const { pool, sessions = 0, missing } = wait;
        const there = sessions === 0 ? "none has joined" : `none of ${plural(sessions, "session")} may take it`;
        return `waits for a session of pool ${pool}: ${there}${missing.length > 0 ? `, it needs ${missing.join(", ")}` : ""}.`;
      }
      return `can never start here: ${waitPhrase(wait, now)}.`;
    case "same-key":
      return `waits for ${glimpsePhrase(wait.holder, now)} of run ${wait.run}, which has the same idempotency key (${wait.key}): if that succeeds, its result is taken.`;
    case "hazard": {
      const holder = glimpsePhrase(wait.holder, now);
      const [own, other] = HAZARD_VERBS[wait.kind];
      if (wait.holder.state === "ready") {
        return `waits for files: it would ${own} ${wait.path}, which is kept for ${holder}, who has waited for too long.`;
      }
      return `waits for files: it would ${own} ${wait.path}, which ${holder} ${other}.`;
    }
    case "backpressure": {
      const then = wait.deferred
        ? "only more urgent work is started until it is shorter"
        : `only ${wait.allowed} may run at once until it is shorter, and ${wait.out} do`;
      return `is held back: the queue is too full (${pressureNumbers(wait)}), so ${then}.`;
    }
    case "shortage": {
      const next =
        wait.until === undefined
          ? "another is begun when one of them has ended"
          : `another is begun in ${formatDuration(between(now, wait.until))} at the earliest`;
      return `waits because the machine is short (${wait.why}): ${plural(wait.out, "task")} ${wait.out === 1 ? "runs" : "run"}, and ${next}. This costs no attempt.`;
    }
    case "breaker-open": {
      const failed = `${wait.provider} failed ${plural(wait.failures, "time")} in a row`;
      if (wait.until === undefined) return `waits until a few others have tried ${wait.provider}: ${failed}.`;
      return `waits because ${failed}: it is left alone for another ${formatDuration(between(now, wait.until))}. This costs no attempt.`;
    }
    case "rate-limited":
      return `waits for a rate to fill up: ${wait.rates.map(ratePhrase).join("; ")}. That is enough in ${formatDuration(between(now, wait.until))}.`;
    case "resources":
      if (wait.reservedFor !== undefined) {
        const kept = wait.short.map(
          ({ name, asked, free }) => `${amount(name, asked)} ${name}, ${amount(name, free)} to spare`,
        );
        return `waits, because what is free is kept for ${glimpsePhrase(wait.reservedFor, now)}, who has waited for too long (it asks for ${kept.join("; ")}).`;
      }
      return `waits for resources: ${wait.short.map((short) => shortagePhrase(short, now)).join("; ")}.`;
    case "capacity":
      if (wait.workers === 0) return "is ready, but no scheduler is running.";
      if (wait.pool !== undefined)
        return `is ready, ${wait.idle > 0 ? "and" : "but"} ${sessionsPhrase(wait, wait.pool)}.`;
      if (wait.idle > 0) return "is ready and about to start.";
      return `is ready, but ${wait.workers === 1 ? "the only worker is" : `all ${wait.workers} workers are`} busy.`;
    case "parked":
      return `was parked ${age(wait.since, now)} ago: ${PARK_WORDS[wait.why]}.`;
    default:
      return unreachable(wait);
  }
}

const HAZARD_VERBS = {
  "write-write": ["write", "writes"],
  "read-write": ["read", "writes"],
  "write-read": ["write", "reads"],
} as const;

function shortagePhrase({ name, asked, free, capacity, holders }: Shortage, now: Instant): string {
  const numbers = `it asks for ${amount(name, asked)} ${name}, ${amount(name, free)} of ${amount(name, capacity)} is free`;
  const held = (each: Holder): string => `${each.task} holds ${amount(name, each.amount)}${sinceText(each, now)}`;
  return holders.total === 0 ? numbers : `${numbers} (${names(holders, held, 3)})`;
}

/** `build (running for 12s on local/1)`. */
const glimpsePhrase = (glimpse: TaskGlimpse, now: Instant): string => {
  const where = glimpse.worker === undefined ? "" : ` on ${glimpse.worker}`;
  return `${glimpse.task} (${glimpse.state}${sinceText(glimpse, now)}${where})`;
};

/** `build (running for 12s)`. */
export const shortPhrase = (glimpse: TaskGlimpse, now: Instant): string =>
  `${glimpse.task} (${glimpse.state}${sinceText(glimpse, now)})`;

const sinceText = ({ since }: TaskGlimpse, now: Instant): string =>
  since === undefined ? "" : ` for ${age(since, now)}`;

/** `a, b and 3 more`. */
export function names<T>({ first, total }: Some<T>, as: (each: T) => string, most: number): string {
  const shown = first.slice(0, most).map(as);
  const more = total - shown.length;
  return more > 0 ? `${shown.join(", ")} and ${more} more` : shown.join(", ");
}

/** A task that is not running holds nothing: what it waits for is kept for it. */
const holds = ({ state }: TaskGlimpse): string => (state === "ready" ? "kept for" : "in use by");

const pressureNumbers = ({ mode, queued, depth }: Extract<Wait, { reason: "backpressure" }>): string =>
  `${mode} pressure, ${queued} of ${depth} queued`;

function ratePhrase({ name, asked, level, capacity, per }: RateShortage): string {
  return `it asks for ${asked} ${name}, ${Math.floor(level)} of ${capacity} is there, and ${capacity} come every ${formatDuration(per)}`;
}

/** An amount of a resource, in the unit that people use. */
export function amount(name: string, value: number): string {
  if (name === "memory") return formatBytes(value);
  return name === "cpu" ? String(value / 1_000) : String(value);
}

/** For programs: the reason code and its evidence. */
export function waitJson(wait: Wait): WaitReply {
  switch (wait.reason) {
    case "needs":
      return {
        reason: wait.reason,
        blockers: wait.blockers.first.map(glimpseJson),
        blockers_total: wait.blockers.total,
      };
    case "backing-off":
      return { reason: wait.reason, until: iso(wait.until), ...(wait.after && { after: outcomeJson(wait.after) }) };
    case "same-key":
    case "hazard":
      return { ...wait, holder: glimpseJson(wait.holder) };
    case "resources":
      return {
        reason: wait.reason,
        short: wait.short.map(shortageJson),
        ...(wait.reservedFor !== undefined && { reserved_for: glimpseJson(wait.reservedFor) }),
      };
    case "no-match":
      return {
        reason: wait.reason,
        missing: wait.missing,
        too_much: wait.tooMuch,
        ...(wait.pool !== undefined && { pool: wait.pool, sessions: wait.sessions }),
      };
    case "offered":
      return { reason: wait.reason, session: wait.session, until: iso(wait.until) };
    case "parked":
      return { reason: wait.reason, why: wait.why, since: iso(wait.since) };
    case "paused":
      return { reason: wait.reason, ...wait.asked };
    case "shortage":
    case "breaker-open": {
      const { until, ...rest } = wait;
      return { ...rest, ...(until !== undefined && { until: iso(until) }) };
    }
    case "rate-limited":
      return {
        reason: wait.reason,
        rates: wait.rates.map(({ at, per, ...rate }) => ({ ...rate, per_ms: per, at: iso(at) })),
        until: iso(wait.until),
      };
    case "gate":
    case "capacity":
    case "backpressure":
      return wait;
    default:
      return unreachable(wait);
  }
}

const shortageJson = ({ holders, ...rest }: Shortage) => ({
  ...rest,
  holders: holders.first.map(({ amount: taken, ...holder }) => ({ ...glimpseJson(holder), amount: taken })),
  holders_total: holders.total,
});

export const glimpseJson = ({ since, ...rest }: TaskGlimpse): GlimpseReply => ({
  ...rest,
  ...(since !== undefined && { since: iso(since) }),
});
