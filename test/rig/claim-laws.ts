/** The laws of claims, checked from the ledger and from what sessions were given: each broken one is a sentence. */
import { type Event, isTaskEvent, type TaskEvent } from "../../src/domain/event.ts";
import type { Run } from "../../src/domain/run.ts";
import { poolOf } from "../../src/domain/spec.ts";
import { isHeld, type Task } from "../../src/domain/task.ts";
import { type PauseScope, scopeKey } from "../../src/domain/waiting/pause.ts";
import type { Played } from "./claims.ts";

/** What ends a claim: one of these, once. */
const ENDS = new Set(["succeeded", "failed", "retried", "expired", "released", "cancelled"]);

interface Seen {
  holder: string | undefined;
  offer: { readonly session: string; readonly until: number } | undefined;
  starved: boolean;
}

export function brokenClaims(run: Run, events: readonly Event[]): readonly string[] {
  const broken: string[] = [];
  const tasks = new Map<number, Seen>(
    run.tasks.map(({ no }) => [no, { holder: undefined, offer: undefined, starved: false }]),
  );
  const pauses = new Map<string, PauseScope>();
  const sessions = new Map<string, { slots: number; state: string }>();
  for (const event of events) {
    const say = (law: string): void => void broken.push(`event ${event.seq} (${event.kind}): ${law}`);
    follow(event, pauses, sessions);
    if (!isTaskEvent(event)) continue;
    const seen = tasks.get(event.task) as Seen;
    const task = run.tasks[event.task] as Task;
    if (event.kind === "claimed" || event.kind === "offered") {
      for (const scope of pauses.values())
        if (covers(run, scope, task)) say(`${task.spec.id} is on hold: ${scopeKey(scope)}`);
    }
    if (event.kind === "claimed") {
      const { offer } = seen;
      if (offer !== undefined && offer.session !== event.worker && offer.until >= event.at)
        say(`it is kept for ${offer.session}`);
      const session = sessions.get(event.worker);
      if (poolOf(task.spec) !== "local" && session === undefined) say(`${event.worker} is not there`);
      if (session !== undefined && session.state !== "idle") say(`${event.worker} is ${session.state}`);
      const held = [...tasks.values()].filter(({ holder }) => holder === event.worker).length;
      if (held >= (session?.slots ?? 1)) say(`${event.worker} has ${held} already`);
    }
    if (ENDS.has(event.kind) && event.kind !== "cancelled" && seen.holder === undefined) say("no worker had it");
    if (event.kind === "starved" && seen.starved) say("it was told before");
    note(event, seen);
  }
  return broken;
}

function follow(
  event: Event,
  pauses: Map<string, PauseScope>,
  sessions: Map<string, { slots: number; state: string }>,
): void {
  if (event.kind === "paused") pauses.set(scopeKey(event.scope), event.scope);
  if (event.kind === "resumed") pauses.delete(scopeKey(event.scope));
  if (event.kind === "session_joined") sessions.set(event.profile.id, { slots: event.profile.slots, state: "idle" });
  if (event.kind === "session_left") sessions.delete(event.session);
  const session = event.kind === "session_changed" ? sessions.get(event.session) : undefined;
  if (session !== undefined && event.kind === "session_changed") session.state = event.state;
}

function note(event: TaskEvent, seen: Seen): void {
  if (event.kind === "claimed") [seen.holder, seen.offer, seen.starved] = [event.worker, undefined, false];
  if (event.kind === "offered") seen.offer = event;
  if (event.kind === "offer_ended" || event.kind === "parked") seen.offer = undefined;
  if (event.kind === "starved") seen.starved = true;
  if (event.kind === "parked") seen.starved = false;
  if (ENDS.has(event.kind) || event.kind === "parked") seen.holder = undefined;
}

function covers(run: Run, scope: PauseScope, task: Task): boolean {
  switch (scope.of) {
    case "scheduler":
      return true;
    case "pool":
      return poolOf(task.spec) === scope.pool;
    case "run":
      return run.no === scope.run;
    case "task":
      return dependsOn(run, task, run.tasks[scope.task] as Task);
  }
}

const dependsOn = (run: Run, task: Task, other: Task): boolean =>
  task === other ||
  [...task.spec.needs, ...task.spec.after].some((need) =>
    dependsOn(run, run.tasks.find(({ spec }) => spec.id === need) as Task, other),
  );

/** What was given out is in the ledger, each of it once, and no token is anywhere. */
export async function brokenGrants({ rig, run, grants, broken }: Played): Promise<readonly string[]> {
  const wrong = [...broken];
  const events = await rig.store.events({});
  const claims = new Set(
    events.flatMap((event) => (event.kind === "claimed" ? [`${event.task} ${event.attempt}`] : [])),
  );
  const tokens = new Map<string, string>();
  for (const { task, fence, token } of grants) {
    const name = `${task.no} ${fence}`;
    if (!claims.has(name))
      wrong.push(`${task.spec.id} was given out as claim ${fence}, which the ledger does not know`);
    if ((tokens.get(token) ?? name) !== name) wrong.push(`two claims have one token`);
    tokens.set(token, name);
  }
  const stored = await rig.store.load(run.no);
  const everything = JSON.stringify([events, stored, await rig.store.sessions(), await rig.store.pauses()]);
  for (const token of tokens.keys()) if (everything.includes(token)) wrong.push("a token was written down");
  return wrong;
}

/** Never more than its slots, whatever the ledger says. */
export function overfull({ rig, run }: Played): readonly string[] {
  const held = new Map<string, number>();
  for (const { status } of run.tasks) {
    if (isHeld(status)) held.set(status.lease.worker, (held.get(status.lease.worker) ?? 0) + 1);
  }
  return [...held].flatMap(([worker, count]) => {
    const session = rig.engine.world.sessions.get(worker as never);
    return session !== undefined && count > 2 ? [`${worker} holds ${count}`] : [];
  });
}
