/**
 * What the ending of an agent means: ordered evidence, one answer. An exit code of 0, a last record that says `success`, a turn that
 * ended: none of these proves anything alone.
 */
import type { Instant, Millis } from "../domain/time.ts";
import type { Evidence } from "./evidence.ts";
import { resetIn } from "./resets.ts";
import { type Diagnosis, diagnosed, diagnosedWords, type Trouble } from "./troubles.ts";
import type { AgentError, Window } from "./vocabulary.ts";

/** How the process of the agent ended, as far as that says anything. */
export type Exit =
  | { readonly code: number; readonly signal?: undefined }
  | { readonly code?: undefined; readonly signal: string };

/** What the agent told us with `complete`, or in a report of its own. */
export interface Report {
  readonly status: "done" | "done_with_concerns" | "needs_context" | "blocked";
  readonly summary?: string;
  readonly result?: unknown;
}

/** What an ending is held against. */
export interface Expected {
  /** What its program promises: see `Features`. */
  readonly endsTurns: boolean;
  readonly tokens: boolean;
  /** An exit code of 0 is an answer by itself: any command, which may well print nothing. */
  readonly silent?: boolean;
  /** The plan asks for a report: without one the work is not done. */
  readonly report: boolean;
  /** What is wrong with a result, where the plan has a schema for it. */
  readonly faults?: (result: unknown) => readonly string[];
  /** What the exit code of this program says by itself. */
  readonly exit?: (code: number) => AgentError | undefined;
  readonly now: Instant;
  readonly zone: Millis;
}

export type AgentFailure =
  | Trouble
  | "malformed"
  | "unproven"
  | "blocked"
  | "stale-session"
  | "exit"
  | "signal"
  | "unknown";

export interface Done {
  readonly kind: "done";
  readonly summary?: string;
  readonly result?: unknown;
  readonly concerns?: true;
}
export interface NotDone {
  readonly kind: AgentFailure;
  readonly message: string;
  /** The rule that said so. */
  readonly rule: string;
  readonly window?: string;
  readonly resetsAt?: Instant;
}
export type Verdict = Done | NotDone;

const EXIT_LATER = 75;

export function classified(evidence: Evidence, exit: Exit, report: Report | undefined, expected: Expected): Verdict {
  return (
    staleSession(evidence, exit) ??
    saidError(evidence, expected) ??
    exitError(evidence, exit, expected) ??
    reported(report) ??
    unfinished(evidence, report, expected) ??
    judgedWords(evidence, report, expected) ??
    withResult(evidence, report, expected)
  );
}

/** The last record says what went wrong. */
function saidError(evidence: Evidence, expected: Expected): NotDone | undefined {
  const { ended } = evidence;
  if (ended === undefined || ended.ok) return undefined;
  const error = ended.error ?? { message: "the turn failed" };
  const found = diagnosed(error) ?? lastRetry(evidence) ?? fromNotes(evidence);
  return found === undefined
    ? { kind: "unknown", message: error.message, rule: "the agent's last record says that it failed" }
    : trouble(found, error.message, evidence, expected);
}

const STALE =
  /\bno rollout found for thread\b|\bNo conversation found with session ID\b|\bSession "[^"]*" not found\b|\bError resuming session\b|\bNo previous sessions found\b|\bwas created under a different\b|\bSession \S+ not found\b/i;

/** The conversation that was to go on is not there any more: that costs one fresh start, and no attempt. */
function staleSession({ notes, ended, said, tools }: Evidence, exit: Exit): NotDone | undefined {
  if (exit.code === 0 || said !== undefined || tools > 0) return undefined;
  const words = [ended?.error?.message ?? "", ...notes].find((each) => STALE.test(each));
  if (words === undefined) return undefined;
  return { kind: "stale-session", message: words, rule: "the conversation is not known" };
}

/** The process did not end well, and the evidence before it, the last try among it, may say why. */
function exitError(evidence: Evidence, exit: Exit, expected: Expected): NotDone | undefined {
  if (exit.code === 0) return undefined;
  if (exit.code === EXIT_LATER) {
    return { kind: "rate-limit", message: "the agent asks for another try later", rule: "exit code 75" };
  }
  const own = exit.code === undefined ? undefined : expected.exit?.(exit.code);
  const found = (own && diagnosed(own)) ?? lastRetry(evidence) ?? fromNotes(evidence);
  const message = own?.message ?? evidence.retrying?.error.message ?? evidence.notes.at(-1);
  if (found !== undefined) return trouble(found, message ?? found.rule, evidence, expected);
  const rule = "how the process ended";
  if (exit.code === undefined) return { kind: "signal", message: `killed by ${exit.signal}`, rule };
  const how = `exit code ${exit.code}`;
  return { kind: "exit", message: message === undefined ? how : `${how}: ${message}`, rule };
}

/** What the agent says of its own work. */
function reported(report: Report | undefined): NotDone | undefined {
  if (report?.status !== "blocked" && report?.status !== "needs_context") return undefined;
  const message =
    report.summary ??
    (report.status === "blocked" ? "the agent cannot go on" : "the agent lacks something it has to know");
  return { kind: "blocked", message, rule: `the agent reported ${report.status}` };
}

/** A turn that never came to its last record, or in which nothing was done at all. */
function unfinished(evidence: Evidence, report: Report | undefined, expected: Expected): NotDone | undefined {
  if (report !== undefined) return undefined;
  if (expected.report)
    return { kind: "unproven", message: "the agent ended without a report", rule: "the plan asks for a report" };
  if (expected.endsTurns && evidence.ended === undefined) {
    const found = lastRetry(evidence);
    const message = "the agent ended in the middle of its turn";
    return found === undefined
      ? { kind: "unknown", message, rule: "no last record" }
      : trouble(found, evidence.retrying?.error.message ?? message, evidence, expected);
  }
  if (expected.silent !== true && isNothing(evidence, expected)) {
    return { kind: "unknown", message: "the agent ended without a word, a tool or a token", rule: "nothing was done" };
  }
  return undefined;
}

/** Without tokens, words and tools there was no work. Where a program counts tokens, none of them is enough to say so. */
function isNothing({ used, said, tools }: Evidence, { tokens }: Expected): boolean {
  const counted = (used?.input ?? 0) + (used?.output ?? 0);
  if (tokens && used !== undefined && counted === 0) return true;
  return counted === 0 && tools === 0 && (said ?? "").trim() === "";
}

/** The turn ended well, it says: a denied tool, or an error in place of an answer, says otherwise. */
function judgedWords(evidence: Evidence, report: Report | undefined, expected: Expected): NotDone | undefined {
  if (report !== undefined) return undefined;
  if (evidence.denied > 0) {
    const what = evidence.denied === 1 ? "a tool was refused" : `${evidence.denied} tools were refused`;
    return {
      kind: "permission",
      message: `${what}, and the agent did not report its work as done`,
      rule: "refused tools",
    };
  }
  const words = evidence.ended?.text ?? evidence.said ?? "";
  const found = /^(?:API )?error\b/i.test(words) ? diagnosedWords(words) : undefined;
  return found && trouble(found, words, evidence, expected);
}

function withResult(evidence: Evidence, report: Report | undefined, { faults }: Expected): Verdict {
  const result = report?.result ?? evidence.ended?.result ?? (faults === undefined ? undefined : jsonIn(evidence));
  const wrong = faults?.(result) ?? [];
  if (wrong.length > 0) return { kind: "malformed", message: wrong.join("; "), rule: "the schema of the result" };
  const summary = report?.summary ?? evidence.ended?.text ?? evidence.said;
  return {
    kind: "done",
    ...(summary !== undefined && { summary }),
    ...(result !== undefined && { result }),
    ...(report?.status === "done_with_concerns" && { concerns: true as const }),
  };
}

/** Programs without structured output of their own say the JSON as their last words. */
function jsonIn({ ended, said }: Evidence): unknown {
  const words = (ended?.text ?? said ?? "").trim().replace(/^```(?:json)?\n([\s\S]*)\n```$/, "$1");
  try {
    return JSON.parse(words);
  } catch {
    return undefined;
  }
}

const lastRetry = ({ retrying }: Evidence): Diagnosis | undefined => retrying && diagnosed(retrying.error);

/** The newest note that tells of a trouble. */
function fromNotes({ notes }: Evidence): Diagnosis | undefined {
  return notes.map(diagnosedWords).findLast((found) => found !== undefined);
}

function trouble({ means, rule }: Diagnosis, message: string, evidence: Evidence, { now, zone }: Expected): NotDone {
  if (means !== "rate-limit" && means !== "quota") return { kind: means, message, rule };
  const shut = Object.values(evidence.windows).filter(({ status }) => status === "rejected");
  const window = latest(shut);
  const waits = evidence.retrying?.delayMs;
  const resetsAt =
    window?.resetsAt ?? resetIn(message, now, zone) ?? (waits === undefined ? undefined : ((now + waits) as Instant));
  // A window of the account that is shut is a quota, whatever the answer is called.
  return {
    kind: window === undefined ? means : "quota",
    message,
    rule,
    ...(window !== undefined && { window: window.name }),
    ...(resetsAt !== undefined && { resetsAt }),
  };
}

const latest = (windows: readonly Window[]): Window | undefined =>
  windows.toSorted((a, b) => (a.resetsAt ?? 0) - (b.resetsAt ?? 0)).at(-1);
