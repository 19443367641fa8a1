/** What must hold when a claim ends, in whatever way. */
import type { TaskEvent } from "../../domain/event.ts";
import { EXPIRIES_MAX } from "../../domain/lease.ts";
import { isTaken, type Outcome } from "../../domain/outcome.ts";
import { isEnded, isHeld, isOfSession, type SeenTask } from "./seen.ts";

type Say = (law: string) => void;

/** Outcomes that count against the budget. Repeated here, so that a mistake in the program's own table is found. */
const COSTLY: ReadonlySet<Outcome["kind"]> = new Set<Outcome["kind"]>([
  "exit",
  "signal",
  "timeout",
  "verify",
  "refused",
]);
/** Outcomes that are retried without limit. */
const FREE: ReadonlySet<Outcome["kind"]> = new Set<Outcome["kind"]>(["shutdown", "rate-limit"]);

/** Says what is wrong with the end of a claim. Called before the event changes the task. */
export function checkEnd(task: SeenTask, event: TaskEvent, say: Say): void {
  switch (event.kind) {
    case "succeeded":
      if (isTaken(event.outcome)) return;
      mustBeHeld(task, event, say);
      if (event.outcome.kind !== "success") say(`it succeeded with ${event.outcome.kind}`);
      if (task.spec.verify !== undefined && task.state !== "verifying") say("it succeeded without being verified");
      if (task.cancelAsked) say("it was asked to be cancelled, and succeeded");
      return inTime(task, event, say);
    case "failed":
      mustBeHeld(task, event, say);
      notForgotten(task, event, say);
      checkFailure(task, event.outcome, event.reason, say);
      return inTime(task, event, say);
    case "retried":
      mustBeHeld(task, event, say);
      notForgotten(task, event, say);
      checkRetry(task, event, say);
      return inTime(task, event, say);
    case "expired":
      mustBeHeld(task, event, say);
      notForgotten(task, event, say);
      if (event.worker !== task.worker) say(`${event.worker} lost what ${task.worker} had`);
      if (event.notBefore < event.at) say("it comes back before it was lost");
      return checkExpiry(task, event.at, event.outcome, say);
    case "released":
      mustBeHeld(task, event, say);
      return notForgotten(task, event, say);
    case "parked":
      if (event.reason === "poison" && task.expiries < EXPIRIES_MAX) say(`it lost only ${task.expiries} leases`);
      if (event.reason === "attention") mustBeHeld(task, event, say);
      else if (isHeld(task)) say(`${task.worker} has it`);
      return;
    case "skipped":
      return checkSkip(task, event.because, say);
    case "cancelled":
      if (isHeld(task) && event.attempt !== task.attempt) say(`claim ${event.attempt} is not the current one`);
      return;
    default:
      return;
  }
}

function mustBeHeld(task: SeenTask, event: TaskEvent, say: Say): void {
  if (!isHeld(task)) say(`no worker had it: it was ${task.state}`);
  if (event.attempt !== task.attempt) say(`claim ${event.attempt} is not the current one, which is ${task.attempt}`);
}

/** A task that a person asked to cancel ends cancelled, and never comes back. */
function notForgotten(task: SeenTask, { kind }: TaskEvent, say: Say): void {
  if (task.cancelAsked) say(`it was asked to be cancelled, and is ${kind}`);
}

/** A session's report counts up to and including its deadline. */
function inTime(task: SeenTask, { at, kind }: TaskEvent & { outcome: Outcome }, say: Say): void {
  if (!isOfSession(task) || task.deadline === undefined || at <= task.deadline) return;
  // A time-out is found by the scheduler, without a report of the holder.
  say(`it ${kind} ${at - task.deadline} ms after the lease had run out`);
}

function checkExpiry(task: SeenTask, at: number, outcome: Outcome | undefined, say: Say): void {
  // A process of this machine may be known to be gone; a session is only ever late.
  if (outcome !== undefined || task.deadline === undefined || !isOfSession(task)) return;
  if (at <= task.deadline) say(`it expired ${task.deadline - at} ms before its deadline was over`);
}

/** Until when the session that was timed out may still work: no other session gets the task before that. Not known without its renewals. */
const stillAtWork = (task: SeenTask, { kind }: Outcome): number =>
  kind !== "timeout" || !isOfSession(task) ? 0 : (task.deadline ?? Number.POSITIVE_INFINITY);

function checkRetry(task: SeenTask, event: TaskEvent & { readonly kind: "retried" }, say: Say): void {
  const { outcome, costs, notBefore, at } = event;
  if (costs !== COSTLY.has(outcome.kind)) say(`${outcome.kind} ${costs ? "counts" : "does not count"} as a try`);
  if (!costs && !FREE.has(outcome.kind)) say(`${outcome.kind} is tried again`);
  if (notBefore < at) say("it backs off into the past");
  if (task.isBlurred || !costs) return;
  if (task.failures + 1 >= task.spec.retry.attempts) say(`it goes over its ${task.spec.retry.attempts} tries`);
  if (notBefore - at > task.spec.retry.max && notBefore > stillAtWork(task, outcome))
    say("it backs off for longer than it may");
}

function checkFailure(task: SeenTask, outcome: Outcome, reason: string, say: Say): void {
  if (task.isBlurred || reason !== "abandoned") return;
  const { attempts } = task.spec.retry;
  if (task.failures + 1 < attempts) say(`it was given up after ${task.failures + 1} of ${attempts} tries`);
  if (!COSTLY.has(outcome.kind)) say(`it was given up for ${outcome.kind}`);
}

function checkSkip(task: SeenTask, because: number, say: Say): void {
  if (isHeld(task)) say(`${task.worker} has it`);
  const cause = task.run.tasks[because];
  if (cause === undefined || !isEnded(cause) || cause.state === "succeeded") {
    say(`it is skipped because of ${cause?.spec.id}, which is ${cause?.state}`);
  } else if (!task.spec.needs.includes(cause.spec.id)) say(`it does not need ${cause.spec.id}`);
  if (task.spec.onFailure === "continue") say("it was to go on in any case");
}
