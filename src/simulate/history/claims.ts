/** What must hold when a task is given out. */

import type { TaskClaimed } from "../../domain/event.ts";
import type { WorkerId } from "../../domain/ids.ts";
import { EXPIRIES_MAX } from "../../domain/lease.ts";
import type { SessionProfile, SessionState } from "../../domain/sessions/session.ts";
import { LOCAL_POOL, poolOf } from "../../domain/spec.ts";
import { type Pause, scopeKey } from "../../domain/waiting/pause.ts";
import { isEnded, isHeld, nameOf, type SeenTask } from "./seen.ts";
import type { Shared } from "./shared.ts";

type Say = (law: string) => void;

export interface SeenSession {
  profile: SessionProfile;
  state: SessionState;
}

/** Everything beside the task itself that decides whether it may be given out. */
export interface Surroundings {
  readonly shared: Shared;
  readonly sessions: ReadonlyMap<WorkerId, SeenSession>;
  readonly pauses: ReadonlyMap<string, Pause>;
}

export function checkClaim(task: SeenTask, event: TaskClaimed, around: Surroundings, say: Say): void {
  if (event.attempt !== task.attempt + 1) say(`claim ${event.attempt} follows claim ${task.attempt}`);
  if (isHeld(task)) say(`${task.worker} has it already`);
  if (task.state === "parked") say("it is parked");
  if (task.cancelAsked || task.run.cancelling) say("it was asked to be cancelled");
  if (task.expiries >= EXPIRIES_MAX) say(`it lost ${task.expiries} leases in a row and was not parked`);
  // With a clock that was set back meanwhile it is unknown how long the task has waited.
  if (event.at >= task.backAt && event.at < task.notBefore)
    say(`it backs off for another ${task.notBefore - event.at} ms`);
  if (task.spec.gate !== undefined && !task.approved) say("its gate is closed");
  checkNeeds(task, say);
  checkHolds(task, event, around.pauses, say);
  checkWorker(task, event, around, say);
}

/** Only a person can move it. */
export function awaitsPerson(task: SeenTask): boolean {
  if (task.state === "parked") return true;
  if (task.state !== "waiting" || task.spec.gate === undefined || task.approved) return false;
  let isFree = true;
  checkNeeds(task, () => {
    isFree = false;
  });
  return isFree;
}

function checkNeeds({ spec, run }: SeenTask, say: Say): void {
  for (const id of spec.needs) {
    const need = run.byId.get(id);
    const isMet =
      need !== undefined && (need.state === "succeeded" || (isEnded(need) && spec.onFailure === "continue"));
    if (!isMet) say(`it needs ${id}, which is ${need?.state ?? "not there"}`);
  }
  for (const id of spec.after) {
    const first = run.byId.get(id);
    if (first === undefined || !isEnded(first)) say(`it comes after ${id}, which is ${first?.state ?? "not there"}`);
  }
}

function checkHolds(task: SeenTask, event: TaskClaimed, pauses: ReadonlyMap<string, Pause>, say: Say): void {
  const { offer } = task;
  if (offer !== undefined && offer.session !== event.worker && event.at <= offer.until) {
    say(`it is kept for ${offer.session}, and goes to ${event.worker}`);
  }
  if (pauses.size > 0 && isPaused(task, pauses)) say("it is on hold");
}

function isPaused(task: SeenTask, pauses: ReadonlyMap<string, Pause>): boolean {
  if (pauses.has("scheduler") || pauses.has(scopeKey({ of: "pool", pool: poolOf(task.spec) }))) return true;
  if (pauses.has(scopeKey({ of: "run", run: task.run.no }))) return true;
  for (const { scope } of pauses.values()) {
    if (scope.of !== "task" || scope.run !== task.run.no) continue;
    if (reaches(task.run.tasks[scope.task] as SeenTask, task)) return true;
  }
  return false;
}

/** A task's pause reaches everything that waits for it. */
function reaches(from: SeenTask, to: SeenTask): boolean {
  const seen = new Set<SeenTask>([from]);
  for (const each of seen) for (const dependent of each.run.dependents.get(each) ?? []) seen.add(dependent);
  return seen.has(to);
}

function checkWorker(task: SeenTask, { worker }: TaskClaimed, around: Surroundings, say: Say): void {
  const { shared, sessions } = around;
  const { spec } = task;
  const load = shared.loadOf(worker);
  if (poolOf(spec) === LOCAL_POOL) {
    if (load > 0) say(`${worker} has another task already`);
    return;
  }
  const session = sessions.get(worker);
  if (session === undefined) return say(`${worker} is no session`);
  const { profile, state } = session;
  if (state === "quarantined") say(`${worker} is quarantined`);
  if (load >= profile.slots) say(`${worker} has ${load} tasks, and room for ${profile.slots}`);
  if (profile.pool !== poolOf(spec)) say(`${worker} is of pool ${profile.pool}, not of ${poolOf(spec)}`);
  if (task.isBlurred) return;
  if (spec.session !== undefined && spec.session !== worker) say(`it is for ${spec.session}, not for ${worker}`);
  if (spec.workspace !== profile.workspace) say(`${worker} works in another workspace`);
  if (spec.channel !== undefined && spec.channel !== profile.channel) say(`${worker} listens to another channel`);
  const missing = spec.requires.find((each) => !profile.capabilities.includes(each));
  if (missing !== undefined) say(`${nameOf(task)} requires ${missing}, which ${worker} does not have`);
}
