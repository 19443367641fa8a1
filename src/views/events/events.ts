/** The ledger for readers: each event as one object for programs, and as one line for people. */

import {
  type Event,
  type EventKind,
  isFromCall,
  isSystemEvent,
  isTaskEvent,
  type RunEvent,
  type RunStalled,
  type TaskEvent,
} from "../../domain/event.ts";
import { describeOutcome, isTaken } from "../../domain/outcome.ts";
import { type Run, taskOf } from "../../domain/run.ts";
import { isLocalWorker } from "../../domain/spec.ts";
import type { StopReason } from "../../domain/task.ts";
import { between, formatDuration } from "../../domain/time.ts";
import { invariant, unreachable } from "../../std/invariant.ts";
import type { EventReply } from "../../wire/replies/event.ts";
import { outcomeJson } from "../report/outcome.ts";
import { pad, paint, quiet, strong, type Theme, type Tone, toned } from "../text/line.ts";
import { iso, plural, timeOfDay } from "../text/moment.ts";
import { waitJson, waitPhrase } from "../why/wait.ts";
import { askedJson, askedWords, systemDetail, systemWords } from "./system-events.ts";

/** One object, ready to be a line of JSON. Ids instead of numbers, times as text, and never any part of a token. */
export function eventJson(event: Event, run: Run | undefined): EventReply {
  const { seq, at } = event;
  const called = callerOf(event);
  const by = called === undefined ? {} : { by: called };
  if (isSystemEvent(event))
    return { seq, at: iso(at), ...(run && { run: run.manifest.id }), ...systemDetail(event, run), ...by };
  invariant(run !== undefined, "what happens to a run or its tasks has a run");
  const { kind } = event;
  const place = { seq, at: iso(at), run: run.manifest.id, kind };
  if (!isTaskEvent(event)) return { ...place, ...runDetail(event, run), ...by };
  const { task, version, attempt } = event;
  return { ...place, task: taskOf(run, task).spec.id, version, attempt, ...taskDetail(event, run), ...by };
}

/** The caller, where the event follows from a call. */
const callerOf = (event: Event): string | undefined =>
  isFromCall(event.kind) ? (event as { readonly by?: string }).by : undefined;

type Detail<Kind extends EventKind> = WithoutPlace<Extract<EventReply, { readonly kind: Kind }>>;
type WithoutPlace<E> = E extends unknown ? Omit<E, "seq" | "at" | "run" | "task" | "version" | "attempt"> : never;

function runDetail(event: RunEvent, run: Run): Detail<RunEvent["kind"]> {
  const { kind } = event;
  switch (kind) {
    // An event that was read back has neither manifest nor tasks; the run has both.
    case "run_submitted":
      return { kind, name: run.manifest.name, tasks: run.tasks.length };
    case "run_reopened":
      return { kind, epoch: event.epoch };
    case "run_cancelling":
      return { kind, ...askedJson(event) };
    case "run_stalled":
      return { kind, remaining: event.remaining, outcome: event.outcome };
    case "run_finished":
      return { kind, outcome: event.outcome };
    default:
      return unreachable(event);
  }
}

function stallWords({ outcome, remaining }: RunStalled): string {
  const left = plural(remaining, "task");
  return outcome === "waiting" ? `waits for a person, with ${left} left` : `stalled: ${left} cannot go on`;
}

function taskDetail(event: TaskEvent, run: Run): Detail<TaskEvent["kind"]> {
  const { kind, attempt: fence } = event;
  switch (kind) {
    case "claimed": {
      const { lane, rank, waitedMs } = event.evidence;
      const evidence = { lane, rank, waited_ms: waitedMs };
      return { kind, fence, worker: event.worker, deadline: iso(event.deadline), evidence };
    }
    case "started":
      return { kind, fence, ...(event.process !== undefined && { pid: event.process.pid }) };
    case "lease_renewed":
      return { kind, fence, deadline: iso(event.deadline) };
    case "stopping":
      return { kind, fence, reason: event.reason.kind, ...stopDetail(event.reason) };
    case "verifying":
      return { kind, fence, worker: event.worker, deadline: iso(event.deadline), outcome: outcomeJson(event.outcome) };
    case "succeeded":
      return { kind, fence, outcome: outcomeJson(event.outcome) };
    case "failed":
      return { kind, fence, outcome: outcomeJson(event.outcome), reason: event.reason };
    case "retried":
      return { kind, fence, outcome: outcomeJson(event.outcome), not_before: iso(event.notBefore), costs: event.costs };
    case "expired":
      return {
        kind,
        fence,
        worker: event.worker,
        not_before: iso(event.notBefore),
        ...(event.why !== undefined && { why: event.why }),
      };
    case "released":
      return { kind, fence, why: event.why };
    case "parked":
      return {
        kind,
        ...(event.outcome && { fence }),
        reason: event.reason,
        ...(event.message !== undefined && { message: event.message }),
        ...(event.outcome && { outcome: outcomeJson(event.outcome) }),
      };
    case "skipped":
      return { kind, because: taskOf(run, event.because).spec.id };
    case "cancelled":
      return {
        kind,
        ...(event.outcome && { fence }),
        ...askedJson(event.asked),
        ...(event.outcome && { outcome: outcomeJson(event.outcome) }),
      };
    case "requeued":
    case "approved":
      return { kind, ...askedJson(event.asked) };
    case "silent":
      return { kind, fence, for_ms: event.forMs };
    case "aged_boost":
      return { kind, from: event.from, to: event.to, waited_ms: event.waitedMs };
    case "priority_inherited":
      return { kind, fence, to: event.to, by_task: taskOf(run, event.by).spec.id };
    case "priority_inversion":
      return { kind, holder: taskOf(run, event.holder).spec.id, for_ms: event.forMs };
    case "waiting": {
      const { reason, ...evidence } = waitJson(event.wait);
      return { kind, reason, evidence };
    }
    case "set_back":
      return { kind, by_ms: event.by };
    case "late_report_refused":
      return { kind, fence: event.fence, reported: event.reported };
    case "offered":
      return { kind, session: event.session, until: iso(event.until) };
    case "offer_ended":
      return { kind, session: event.session, why: event.why };
    case "starving":
      return { kind, count: event.count };
    case "spawn_asked":
      return { kind, pool: event.pool };
    case "starved":
      return { kind, count: event.count, waited_ms: event.waitedMs };
    case "edited":
      return { kind, changed: Object.keys(event.changes), ...askedJson(event.asked) };
    case "noted":
      return { kind, fence, note: event.note };
    default:
      return unreachable(event);
  }
}

function stopDetail(reason: StopReason): Pick<Detail<"stopping">, "limit" | "by" | "why"> {
  if (reason.kind === "timeout") return { limit: reason.limit };
  return reason.kind === "cancelled" ? askedJson(reason.asked) : {};
}

/** `   12  12:03:11  build  claimed by local/1 (attempt 2, waited 3s)`. */
export function eventLine(event: Event, run: Run | undefined, theme: Theme): string {
  const seq = quiet(String(event.seq).padStart(5));
  const who = pad([strong(subjectOf(event, run))], NAME_WIDTH);
  const { text, tone } = isSystemEvent(event) ? systemWords(event, run) : eventWords(event, run as Run);
  const what = tone === undefined ? text : toned(tone, text);
  const by = callerOf(event);
  const called = by === undefined ? [] : [quiet(` · by ${by}`)];
  return paint([seq, "  ", quiet(timeOfDay(event.at, theme.timeZone)), "  ", ...who, "  ", what, ...called], theme);
}

function subjectOf(event: Event, run: Run | undefined): string {
  if (run === undefined) return "scheduler";
  return isTaskEvent(event) ? taskOf(run, event.task).spec.id : run.manifest.name;
}

/** Longer names are cut; `--json` has them whole. */
const NAME_WIDTH = 20;

/** What happened, as the end of a sentence that begins with the task or the run. */
export function eventWords(event: RunEvent | TaskEvent, run: Run): { readonly text: string; readonly tone?: Tone } {
  switch (event.kind) {
    case "run_submitted":
      return { text: `submitted with ${plural(run.tasks.length, "task")}` };
    case "run_reopened":
      return { text: "taken up again" };
    case "run_cancelling":
      return { text: `to be cancelled, ${askedWords(event)}`, tone: "warn" };
    case "run_stalled":
      return { text: stallWords(event), tone: "warn" };
    case "run_finished":
      return { text: event.outcome, tone: RUN_TONES[event.outcome] };
    case "claimed":
      return {
        text: `claimed by ${event.worker} (attempt ${event.attempt}, waited ${formatDuration(event.evidence.waitedMs)})`,
      };
    case "started":
      return { text: event.process === undefined ? "started" : `started as pid ${event.process.pid}` };
    case "lease_renewed":
      return { text: "lease renewed" };
    case "stopping":
      return { text: `is being stopped: ${stopWords(event.reason)}`, tone: "warn" };
    case "verifying":
      return { text: `done in ${formatDuration(event.outcome.durationMs)}, and is being verified` };
    case "succeeded":
      if (isTaken(event.outcome))
        return { text: `${describeOutcome(event.outcome)}, which has the same key`, tone: "good" };
      return { text: `succeeded in ${formatDuration(event.outcome.durationMs)}`, tone: "good" };
    case "failed": {
      const last = event.reason === "abandoned" && event.attempt > 1 ? `, after ${event.attempt} attempts` : "";
      return { text: `failed: ${describeOutcome(event.outcome)}${last}`, tone: "bad" };
    }
    case "retried": {
      const delay = formatDuration(between(event.at, event.notBefore));
      return { text: `${describeOutcome(event.outcome)}, tries again in ${delay}`, tone: "warn" };
    }
    case "expired":
      return { text: lossWords(event), tone: "warn" };
    case "released":
      return { text: `given back: ${event.why}` };
    case "parked":
      return {
        text: `parked (${event.reason}${event.outcome ? `: ${describeOutcome(event.outcome)}` : ""})`,
        tone: "warn",
      };
    case "skipped":
      return { text: `skipped, because ${taskOf(run, event.because).spec.id} did not succeed`, tone: "quiet" };
    case "cancelled":
      return { text: `cancelled, ${askedWords(event.asked)}`, tone: "warn" };
    case "requeued":
      return { text: `put back in the queue, ${askedWords(event.asked)}` };
    case "approved":
      return { text: `approved, ${askedWords(event.asked)}` };
    case "silent":
      return { text: `has been silent for ${formatDuration(event.forMs)}`, tone: "warn" };
    case "aged_boost":
      return { text: `waited ${formatDuration(event.waitedMs)}: moved up from ${event.from} to ${event.to}` };
    case "priority_inherited":
      return { text: `is treated as ${event.to}, because ${taskOf(run, event.by).spec.id} waits for its files` };
    case "priority_inversion":
      return {
        text: `waited ${formatDuration(event.forMs)} for files that ${taskOf(run, event.holder).spec.id} held`,
        tone: "warn",
      };
    case "waiting":
      return { text: `waits: ${waitPhrase(event.wait, event.at)}`, tone: "quiet" };
    case "set_back":
      return { text: `is counted from here: the clock is ${formatDuration(event.by)} behind`, tone: "warn" };
    case "late_report_refused":
      return { text: `report "${event.reported}" refused: fence ${event.fence} is not the current one`, tone: "warn" };
    case "offered":
      return { text: `offered to ${event.session} for ${formatDuration(between(event.at, event.until))}` };
    case "offer_ended":
      return { text: `no longer kept for ${event.session} (${event.why})` };
    case "starving":
      return { text: `no session came for it (${event.count})`, tone: "quiet" };
    case "spawn_asked":
      return { text: `a worker for pool ${event.pool} was asked for` };
    case "starved":
      return { text: `starves: no session came for it in ${formatDuration(event.waitedMs)}`, tone: "warn" };
    case "edited":
      return { text: `changed (${Object.keys(event.changes).join(", ")}), ${askedWords(event.asked)}` };
    case "noted":
      return { text: event.note, tone: "quiet" };
    default:
      return unreachable(event);
  }
}

/** Only its scheduler renews the lease of a process of this machine, so the two are lost together; a session renews its own. */
function lossWords({ outcome, worker }: Extract<TaskEvent, { readonly kind: "expired" }>): string {
  if (outcome !== undefined) return describeOutcome(outcome);
  return isLocalWorker(worker)
    ? `lost: the scheduler that ran it on ${worker} died, and no scheduler took it over`
    : `lost: ${worker} let its lease run out`;
}

const RUN_TONES = { succeeded: "good", failed: "bad", cancelled: "warn" } as const;

function stopWords(reason: StopReason): string {
  if (reason.kind === "timeout") return `${reason.limit} time-out`;
  return reason.kind === "cancelled" ? `cancelled, ${askedWords(reason.asked)}` : "the scheduler stops";
}
