/** Why a task is in its state: a sentence, the numbers behind it, and what to do about it. */

import { describeOutcome, isTaken, refText } from "../../domain/outcome.ts";
import type { StopReason } from "../../domain/task.ts";
import { between, formatDuration, type Instant, millis } from "../../domain/time.ts";
import type {
  DispatchGate,
  Explanation,
  PoolThere,
  SessionThere,
  Unblock,
  Wait,
} from "../../domain/waiting/explanation.ts";
import { unreachable } from "../../std/invariant.ts";
import type { WhyReply } from "../../wire/replies/why.ts";
import { askedJson, askedWords } from "../events/system-events.ts";
import { outcomeJson } from "../report/outcome.ts";
import { wishJson, wishLines } from "../status/wishes.ts";
import { SESSION_SIGNS } from "../status/workers.ts";
import { type Line, lineWidth, paintSections, quiet, strong, type Theme, table, toned } from "../text/line.ts";
import { age, grouped, iso, plural, timeOfDay } from "../text/moment.ts";
import { STATE_SIGNS } from "../text/sign.ts";
import { wrapWords } from "../text/text.ts";
import { type CommandWriter, commandLines, plainCommand } from "./next.ts";
import { amount, glimpseJson, names, shortPhrase, waitJson, waitSentence } from "./wait.ts";
import { nextSteps } from "./why-next.ts";

export interface WhyOptions {
  readonly columns: number;
  /** Whether the run is the newest one, which commands use when no run is named. */
  readonly newest: boolean;
  /** Whether the task with this name has a log. */
  readonly leavesLog: (task: string) => boolean;
  readonly command?: CommandWriter;
}

export function whyText(explanation: Explanation, options: WhyOptions, theme: Theme): string[] {
  const { columns, newest, leavesLog, command = plainCommand } = options;
  const { title, at } = explanation;
  const facts = factsOf(explanation, theme);
  const gates = explanation.gates.map((gate) => gateRow(gate, at));
  const next = commandLines(
    nextSteps(explanation, leavesLog).map(([words, purpose]) => [
      command(words, newest || OF_NO_RUN.has(words[0] ?? "") ? undefined : explanation.run),
      purpose,
    ]),
  );
  const sections: Line[][] = [
    [...answerOf(explanation, columns), ...(title === undefined ? [] : [[quiet(`  ${title}`)]])],
    table(gates, { columns: [{}, {}, { shrinkTo: 20 }], width: columns }),
    sessionLines(explanation, columns),
    table(facts, { columns: [{}, { shrinkTo: 20 }], width: columns }),
    wishLines(explanation.wishes ?? [], at, columns),
    next,
  ];
  return paintSections(sections, theme, columns);
}

/** Commands that are not about a run. */
const OF_NO_RUN: ReadonlySet<string> = new Set(["workers", "doctor"]);

/** The answer is never cut: it continues on further lines. */
function answerOf(explanation: Explanation, columns: number): Line[] {
  const { state, task } = explanation;
  const head: Line = [STATE_SIGNS[state], " ", strong(task), " "];
  const [first = "", ...rest] = wrapWords(verdictOf(explanation), columns - 2, columns - lineWidth(head));
  return [[...head, first], ...rest.map((text): Line => ["  ", text])];
}

/** The state of the task, as the end of a sentence that begins with its name. */
function verdictOf(explanation: Explanation): string {
  const { wait, state, holding, outcome, failReason, because, cancelled, at, attempt, since } = explanation;
  if (wait !== undefined) return waitSentence(wait, at);
  switch (state) {
    case "claimed":
    case "running": {
      const verb = state === "running" ? "is running" : "is about to start";
      const stopping = holding?.stopping === undefined ? "" : `; it is being stopped (${stopWords(holding.stopping)})`;
      return `${verb} on ${holding?.worker} for ${age(since ?? at, at)}, attempt ${attempt}${stopping}.`;
    }
    case "verifying": {
      const stopping = holding?.stopping === undefined ? "" : `; it is being stopped (${stopWords(holding.stopping)})`;
      return `is done, and its acceptance command has run for ${age(since ?? at, at)}, attempt ${attempt}${stopping}.`;
    }
    case "succeeded":
      if (outcome !== undefined && isTaken(outcome)) {
        return `took the result of ${refText(outcome.takenFrom)}, which has the same idempotency key, ${ago(since, at)}: it was not done again.`;
      }
      return attempt === 0
        ? "was done by an earlier run."
        : `succeeded${outcome ? ` in ${formatDuration(outcome.durationMs)}` : ""}, ${ago(since, at)}.`;
    case "failed":
      return `failed: ${outcome ? describeOutcome(outcome) : ""}${failReason === "abandoned" ? `, after ${plural(attempt, "attempt")}` : ", which is not worth another attempt"}.`;
    case "cancelled":
      return `was cancelled ${ago(since, at)}${cancelled === undefined ? "" : `, ${askedWords(cancelled)}`}.`;
    case "skipped": {
      const chain = because ?? [];
      const root = chain.at(-1);
      const through =
        chain.length > 1
          ? `, through ${chain
              .slice(0, -1)
              .map(({ task }) => task)
              .join(", ")}`
          : "";
      return `was skipped, because ${root?.task} ${root?.state === "cancelled" ? "was cancelled" : "failed"}${through}.`;
    }
    case "blocked":
    case "ready":
    case "parked":
      return `is ${state}.`;
    default:
      return unreachable(state);
  }
}

const stopWords = (reason: StopReason): string =>
  reason.kind === "cancelled" ? `cancelled, ${askedWords(reason.asked)}` : reason.kind;

const ago = (since: Instant | undefined, now: Instant): string =>
  since === undefined ? "some time ago" : `${age(since, now)} ago`;

function workerWords({ idle, total, pool }: Extract<DispatchGate, { gate: "workers" }>): readonly [string, string] {
  if (pool === undefined) return ["workers", total === 0 ? "no scheduler is running" : `${idle} of ${total} idle`];
  return [
    "sessions",
    total === 0 ? `none has joined pool ${pool}` : `${idle} of ${total} in pool ${pool} free to take it`,
  ];
}

/** Longer lists are cut, and say how many entries are left out. */
const SESSIONS_MAX = 8;

/** The sessions of its pool, and whether each may take the task. */
function sessionLines({ pool, wait }: Explanation, width: number): Line[] {
  if (pool === undefined || pool.sessions.length === 0 || isUnscheduled(wait)) return [];
  const rows = pool.sessions.slice(0, SESSIONS_MAX).map((each): Line[] => {
    const { sign, tone } = SESSION_SIGNS[each.state];
    return [[toned(tone, sign), " ", each.session], [each.state], [quiet(sessionWords(each, pool))]];
  });
  const more = pool.sessions.length - rows.length;
  return [
    [strong(`Sessions of pool ${pool.name}`)],
    ...table(rows, { columns: [{ shrinkTo: 12 }, {}, { shrinkTo: 20 }], width }),
    ...(more > 0 ? [[quiet(`    and ${grouped(more)} more`)]] : []),
  ];
}

function sessionWords({ suits, state, claiming }: SessionThere, { mode }: PoolThere): string {
  if (!suits) return "may not take it";
  if (mode === "push") return state === "idle" ? "is assigned work by the scheduler" : "";
  if (claiming === true) return "waits in a claim for other work";
  return claiming === false && state === "idle" ? "waits in no claim" : "";
}

const isUnscheduled = (wait: Wait | undefined): boolean => wait?.reason === "capacity" && wait.workers === 0;

/** Whether the gate is open, its name, and its numbers. */
function gateRow(gate: DispatchGate, now: Instant): Line[] {
  const [name, numbers] = gateWords(gate, now);
  return [[gate.open ? toned("good", "✔") : toned("bad", "✖")], [name], [gate.open ? quiet(numbers) : numbers]];
}

function gateWords(gate: DispatchGate, now: Instant): readonly [string, string] {
  switch (gate.gate) {
    case "needs":
      return ["needs", `${gate.met} of ${gate.total} met`];
    case "approval":
      return ["approval", gate.open ? "given" : `asked for: ${gate.prompt}`];
    case "pause":
      return ["pause", "nothing new is started"];
    case "back-off":
      return ["back-off", gate.open ? "over" : `ends in ${formatDuration(between(now, gate.until))}`];
    case "capabilities":
      return [
        "capabilities",
        gate.open ? `${gate.total} of ${gate.total} there` : `no worker has ${gate.missing.join(", ")}`,
      ];
    case "key":
      return ["key", gate.open ? `no other task has ${gate.key}` : `another task has ${gate.key}`];
    case "files":
      return [
        "files",
        gate.open ? `no task is in the way of ${fileWords(gate)}` : `another task is in the way of ${fileWords(gate)}`,
      ];
    case "resource": {
      const { name, asked, free, capacity, scope } = gate;
      const numbers = `asks for ${amount(name, asked)}, ${amount(name, free)} of ${amount(name, capacity)} free`;
      return [name, scope === "plan" ? `${numbers} in this plan` : numbers];
    }
    case "rate": {
      const { name, asked, level, capacity, per } = gate;
      return [
        name,
        `asks for ${asked}, ${Math.floor(level)} of ${capacity} there, ${capacity} every ${formatDuration(per)}`,
      ];
    }
    case "service": {
      const failed = gate.failures === 0 ? "no failures" : `${plural(gate.failures, "failure")} in a row`;
      return [gate.provider, `${SERVICE_WORDS[gate.state]}, ${failed}`];
    }
    case "pressure":
      return ["pressure", `${gate.mode}, ${gate.queued} of ${gate.depth} queued`];
    case "reservation":
      return [
        "reservation",
        gate.open ? `does not delay ${gate.for}` : `would delay ${gate.for}, who has waited for too long`,
      ];
    case "workers":
      return workerWords(gate);
    default:
      return unreachable(gate);
  }
}

const SERVICE_WORDS = { closed: "in use", open: "left alone", "half-open": "being tried" } as const;

const fileWords = ({ reads, writes }: { reads: number; writes: number }): string =>
  [reads > 0 ? `${reads} read` : "", writes > 0 ? `${writes} written` : ""].filter((part) => part !== "").join(", ");

function factsOf(explanation: Explanation, theme: Theme): Line[][] {
  const { at, roots, unblock, position, priority, rank, rankUnit, estimate, holding, failures, attemptsMax } =
    explanation;
  const { wait, state, outcome } = explanation;
  const facts: Line[][] = [];
  const add = (name: string, text: string): void => void facts.push([[quiet(name)], [text]]);
  if (roots !== undefined && wait?.reason === "needs" && !sameTasks(roots, wait.blockers)) {
    add(
      "it hangs on",
      names(roots, (each) => shortPhrase(each, at), 3),
    );
  }
  if (unblock !== undefined) add("expected", unblockWords(unblock, at, theme));
  if (position !== undefined && wait?.reason !== "no-match")
    add("in line", `${position.place} of ${position.of} ready at ${priority} priority`);
  if (wait !== undefined && rank > 0) {
    add(
      "rank",
      rankUnit === "ms"
        ? `${formatDuration(millis(rank))} to the end of the plan`
        : `${plural(rank, "step")} to the end of the plan`,
    );
  }
  if (estimate !== undefined && (wait !== undefined || holding !== undefined)) {
    add("estimate", `${formatDuration(estimate.ms)} (${ESTIMATE_WORDS[estimate.source]})`);
  }
  if (holding?.timeoutAt !== undefined) add("time-out", `in ${formatDuration(between(at, holding.timeoutAt))}`);
  if (holding !== undefined) add("lease", `ends in ${formatDuration(between(at, holding.deadline))} unless renewed`);
  if (failures > 0 && state !== "failed") add("failures", `${failures} of ${plural(attemptsMax, "attempt")} used`);
  if (outcome?.kind === "success" && outcome.summary !== undefined) add("summary", outcome.summary);
  return facts;
}

const sameTasks = (a: { total: number; first: readonly { task: string }[] }, b: typeof a): boolean =>
  a.total === b.total && a.first.every(({ task }, at) => b.first[at]?.task === task);

const ESTIMATE_WORDS = {
  plan: "from the plan",
  history: "what it took in earlier runs",
  observed: "what tasks of this run took so far",
  typical: "what is known of other tasks",
} as const;

function unblockWords({ at, from }: Unblock, now: Instant, { timeZone }: Theme): string {
  if (at <= now) return "at once";
  const when = `in ${formatDuration(between(now, at))} (${timeOfDay(at, timeZone)})`;
  switch (from) {
    case "back-off":
      return when;
    case "rate":
      return `${when}, if no other task takes of the rate`;
    case "offer":
      return `${when}, if the session does not take it`;
    case "breaker":
      return `${when}, when the service is tried again`;
    case "estimate":
      return `${when}, by the estimate of what runs`;
    case "time-out":
      return `${when} at the latest, by the time-out of what runs`;
    case "path":
      return `${when}, by the longest path before it`;
    default:
      return unreachable(from);
  }
}

/** For programs: every number. */
export function whyJson(explanation: Explanation): WhyReply {
  const { run, task, title, at, state, since, attempt, failures, attemptsMax, priority } = explanation;
  const { rank, rankUnit, estimate, position, wait, roots, gates, unblock, holding } = explanation;
  const { outcome, failReason, cancelled, because } = explanation;
  return {
    run,
    task,
    ...(title !== undefined && { title }),
    sentence: `${task} ${verdictOf(explanation)}`,
    at: iso(at),
    state,
    ...(since !== undefined && { since: iso(since), age_ms: at - since }),
    reason: wait?.reason ?? null,
    ...(wait !== undefined && { wait: waitJson(wait) }),
    ...(roots !== undefined && { roots: roots.first.map(glimpseJson), roots_total: roots.total }),
    ...(unblock !== undefined && { unblock: { at: iso(unblock.at), in_ms: unblock.at - at, from: unblock.from } }),
    gates: gates.map((gate) => (gate.gate === "back-off" ? { ...gate, until: iso(gate.until) } : gate)),
    ...(explanation.pool !== undefined && { pool: explanation.pool }),
    priority,
    rank,
    rank_unit: rankUnit,
    ...(estimate !== undefined && { estimate_ms: estimate.ms, estimate_source: estimate.source }),
    ...(position !== undefined && { position }),
    attempt,
    failures,
    attempts_max: attemptsMax,
    ...(holding !== undefined && {
      worker: holding.worker,
      lease_deadline: iso(holding.deadline),
      ...(holding.timeoutAt !== undefined && { timeout_at: iso(holding.timeoutAt) }),
      ...(holding.stopping !== undefined && { stopping: holding.stopping.kind }),
    }),
    ...(outcome !== undefined && { outcome: outcomeJson(outcome) }),
    ...(failReason !== undefined && { fail_reason: failReason }),
    ...(cancelled !== undefined && { cancelled: askedJson(cancelled) }),
    ...(because !== undefined && { because: because.map(glimpseJson) }),
    ...(explanation.wishes !== undefined && { asked: explanation.wishes.map(wishJson) }),
  };
}
