/** Every kind of event in a sentence. The compiler keeps the list complete. */
import type { EventKind } from "../src/domain/event.ts";

export const EVENT_FIELDS = {
  seq: "Its place in the ledger: 1, 2, 3, … without gaps.",
  at: "When, in UTC.",
  run: "The id of the run.",
  kind: "What happened: the table below.",
  task: "The id of the task.",
  version: "Its place among the events of the task, without gaps.",
  attempt: "The claim it is about; 0 before the first.",
  fence: "The number of the claim, where the event concerns one. A report with an older number is refused.",
  by: "Who called, where the event follows from a call: the owner of the state directory by name, a token by its name and id.",
} as const;

/** `lease_renewed` moves a deadline and nothing else, so the ledger does not keep it. */
export const EVENTS: Readonly<Record<Exclude<EventKind, "lease_renewed">, string>> = {
  run_submitted: "A plan became a run.",
  run_reopened: "A scheduler took the run up again.",
  run_cancelling: "A person asked for the whole run to be cancelled.",
  run_stalled: "Work remains that the scheduler alone cannot move.",
  run_finished: "Every task has come to an end.",
  claimed: "A worker was given the task, with a lease.",
  started: "The attempt is running.",
  verifying:
    "The work is done and its worker is free. The scheduler runs the task's `verify` command; said again where an earlier run of it was lost with its scheduler.",
  stopping: "The attempt is about to be stopped.",
  succeeded: "The task is done.",
  failed: "The task failed and will not be tried again.",
  retried: "The attempt failed; the task is tried again, not before a given moment.",
  expired: "The lease ran out, or its holder is gone; the task is queued again.",
  released: "The task was handed back without having been worked on.",
  parked: "The task waits for a person.",
  skipped: "Something the task needs did not succeed.",
  cancelled: "The task was cancelled because a person asked.",
  requeued: "A parked task was put back in the queue.",
  approved: "The gate in front of the task was opened.",
  silent: "The attempt has given no sign of life for longer than it should.",
  aged_boost: "The task waited too long and moves up one lane.",
  priority_inherited: "A more urgent task waits for its files: it takes over that task's lane.",
  priority_inversion: "The task waited for files that a less urgent task held, for so long.",
  waiting:
    "The task is ready and does not start. Written for the first task in line of a run and pool whenever the reason differs from the one before, and once for a task that waits for files or that no worker can do.",
  offered: "A session was woken for the task, and no other session gets it until then.",
  offer_ended: "The task is no longer kept for the session.",
  starving: "Another cycle in which no session came for the task.",
  spawn_asked: "A worker that can do the task was asked for.",
  starved: "No session comes for the task. Written once.",
  edited: "A person changed the task.",
  noted: "What the holder of the task says about its progress.",
  session_joined: "A session came to work.",
  session_changed: "A session is in another state.",
  session_left: "A session is gone.",
  worker_started: "A worker of this machine was given its first task by this scheduler.",
  paused: "Nothing new is given out: of everything, a pool, a run, or a task and what depends on it.",
  resumed: "What was paused goes on.",
  drained: "A drain is over; so many tasks were still out.",
  set_back:
    "The clock of the scheduler that took the run up is behind what is known of the task, by so much. Since when it waits or runs, and a back-off, are counted from here.",
  late_report_refused: "A worker reported on a claim that it no longer holds. Nothing changed.",
};
