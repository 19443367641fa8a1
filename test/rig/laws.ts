/** The laws of a history, checked from its ledger alone: each broken one is a sentence. */

import type { Event, TaskEvent } from "../../src/domain/event.ts";
import { isTaskEvent } from "../../src/domain/event.ts";
import { overlaps } from "../../src/domain/paths.ts";
import type { Run } from "../../src/domain/run.ts";
import type { Amounts, TaskSpec } from "../../src/domain/spec.ts";

interface Seen {
  readonly spec: TaskSpec;
  version: number;
  claims: number;
  costly: number;
  held: string | undefined;
  ended: string | undefined;
  approved: boolean;
  cancelAsked: boolean;
}

const ENDS = new Set(["succeeded", "failed", "cancelled", "skipped"]);
const BACK = new Set(["retried", "expired", "released", "parked"]);

export function brokenLaws(run: Run, events: readonly Event[], capacity: Amounts): readonly string[] {
  const broken: string[] = [];
  const tasks = run.tasks.map(({ spec, no }): Seen => {
    const ended = run.manifest.carried.includes(no) ? "succeeded" : undefined;
    return { spec, version: 0, claims: 0, costly: 0, held: undefined, ended, approved: false, cancelAsked: false };
  });
  const byId = new Map(tasks.map((each) => [each.spec.id, each]));
  /** How many tasks each session does at once. */
  const slots = new Map<string, number>();
  let seq = 0;
  for (const event of events) {
    const say = (law: string): void => void broken.push(`event ${event.seq} (${event.kind}): ${law}`);
    if (event.seq !== ++seq) say(`follows ${seq - 1}`);
    if (event.kind === "session_joined") slots.set(event.profile.id, event.profile.slots);
    if (!isTaskEvent(event)) continue;
    const task = tasks[event.task] as Seen;
    if (event.version !== ++task.version) say(`version ${event.version} follows ${task.version - 1}`);
    if (task.ended !== undefined && event.kind !== "late_report_refused") say(`${task.spec.id} had ${task.ended}`);
    if (event.kind === "claimed")
      checkClaim(
        event,
        task,
        tasks,
        byId,
        { ...capacity, ...run.manifest.resources },
        slots.get(event.worker) ?? 1,
        say,
      );
    follow(event, task, say);
  }
  return broken;
}

function checkClaim(
  event: Event & { readonly kind: "claimed" },
  task: Seen,
  tasks: readonly Seen[],
  byId: ReadonlyMap<TaskSpec["id"], Seen>,
  capacity: Amounts,
  slots: number,
  say: (law: string) => void,
): void {
  const { spec } = task;
  if (event.attempt !== task.claims + 1) say(`attempt ${event.attempt} follows ${task.claims}`);
  if (task.held !== undefined) say(`${spec.id} is held by ${task.held}`);
  if (task.cancelAsked) say(`${spec.id} was asked to be cancelled`);
  if (spec.gate !== undefined && !task.approved) say(`${spec.id} has a closed gate`);
  for (const need of spec.needs) {
    const { ended } = byId.get(need) as Seen;
    const met = ended === "succeeded" || (ended !== undefined && spec.onFailure === "continue");
    if (!met) say(`${spec.id} needs ${need}, which is ${ended ?? "not done"}`);
  }
  for (const first of spec.after) if (byId.get(first)?.ended === undefined) say(`${spec.id} comes after ${first}`);
  const held = tasks.filter((other) => other.held !== undefined);
  if (held.filter((other) => other.held === event.worker).length >= slots) say(`${event.worker} has ${slots} already`);
  for (const other of held) if (collide(spec, other.spec)) say(`${spec.id} and ${other.spec.id} touch the same files`);
  for (const [name, most] of Object.entries(capacity)) {
    const taken = [task, ...held].reduce((sum, each) => sum + (each.spec.resources[name] ?? 0), 0);
    if (taken > most) say(`${taken} of ${most} ${name} given out`);
  }
}

const collide = (a: TaskSpec, b: TaskSpec): boolean => {
  const meet = (xs: readonly string[], ys: readonly string[]) => xs.some((x) => ys.some((y) => overlaps(x, y)));
  return meet(a.writes, b.writes) || meet(a.writes, b.reads) || meet(a.reads, b.writes);
};

function follow(event: TaskEvent, task: Seen, say: (law: string) => void): void {
  if (event.kind === "claimed") [task.claims, task.held] = [event.attempt, event.worker];
  if (event.kind === "approved") task.approved = true;
  if (event.kind === "stopping" && event.reason.kind === "cancelled") task.cancelAsked = true;
  if (event.kind === "failed" || (event.kind === "retried" && event.costs)) task.costly++;
  if (event.kind === "retried" && event.notBefore < event.at) say("backs off into the past");
  if (event.kind === "retried" && event.costs && task.costly >= task.spec.retry.attempts) say("goes over its budget");
  if (ENDS.has(event.kind)) task.ended = event.kind;
  if (ENDS.has(event.kind) || BACK.has(event.kind)) task.held = undefined;
}
