/** Every kind of event in a sentence. The compiler keeps the list complete. */
import type { EventKind } from "../src/domain/event.ts";

interface EventWords {
  readonly meaning: string;
  /** What it has beyond the fields that all events share. */
  readonly fields: readonly string[];
}

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
export const EVENTS: Readonly<Record<Exclude<EventKind, "lease_renewed">, EventWords>> = {
  run_submitted: { meaning: "A plan became a run.", fields: ["name", "tasks"] },
  run_reopened: { meaning: "A scheduler took the run up again.", fields: ["epoch"] },
  run_cancelling: { meaning: "Somebody asked for the whole run to be cancelled.", fields: ["by", "why"] },
  run_stalled: { meaning: "Work remains that nothing can move by itself.", fields: ["remaining"] },
  run_finished: { meaning: "Every task has come to an end.", fields: ["outcome"] },
  claimed: {
    meaning: "A worker was given the task, with a lease.",
    fields: ["worker", "deadline", "evidence"],
  },
  started: { meaning: "The attempt is running.", fields: ["pid"] },
  verifying: {
    meaning:
      "The work is done and its worker is free. The scheduler runs the task's `verify` command; said again where an earlier run of it was lost with its scheduler.",
    fields: ["worker", "deadline", "outcome"],
  },
  stopping: { meaning: "The attempt is about to be stopped.", fields: ["reason", "limit", "by", "why"] },
  succeeded: { meaning: "The task is done.", fields: ["outcome"] },
  failed: { meaning: "The task failed and will not be tried again.", fields: ["outcome", "reason"] },
  retried: {
    meaning: "The attempt failed; the task is tried again, not before a given moment.",
    fields: ["outcome", "not_before", "costs"],
  },
  expired: {
    meaning: "The lease ran out, or its holder is gone; the task is queued again.",
    fields: ["worker", "not_before"],
  },
  released: { meaning: "The task was handed back without having been worked on.", fields: ["why"] },
  parked: { meaning: "The task waits for a person.", fields: ["reason", "outcome"] },
  skipped: { meaning: "Something the task needs did not succeed.", fields: ["because"] },
  cancelled: { meaning: "The task was cancelled because somebody asked.", fields: ["by", "why", "outcome"] },
  requeued: { meaning: "A parked task was put back in the queue.", fields: ["by", "why"] },
  approved: { meaning: "The gate in front of the task was opened.", fields: ["by", "why"] },
  silent: { meaning: "The attempt has given no sign of life for longer than it should.", fields: ["for_ms"] },
  aged_boost: { meaning: "It waited too long and moves up one lane.", fields: ["from", "to", "waited_ms"] },
  priority_inherited: {
    meaning: "A more urgent task waits for its files: it takes over that task's lane.",
    fields: ["to", "by_task"],
  },
  priority_inversion: {
    meaning: "It waited for files that a less urgent task held, for so long.",
    fields: ["holder", "for_ms"],
  },
  waiting: {
    meaning:
      "The task is ready and does not go. Told of the first in line of a run and pool whenever it waits for another thing than the first did before, and once of a task that waits for files or that nobody can do.",
    fields: ["reason", "evidence"],
  },
  offered: {
    meaning: "A session was woken for the task, and nobody else gets it until then.",
    fields: ["session", "until"],
  },
  offer_ended: { meaning: "The task is no longer kept for the session.", fields: ["session", "why"] },
  starving: { meaning: "Another cycle in which nobody came for the task.", fields: ["count"] },
  spawn_asked: { meaning: "A worker that can do the task was asked for.", fields: ["pool"] },
  starved: { meaning: "Nobody comes for the task. Told once.", fields: ["count", "waited_ms"] },
  edited: { meaning: "Somebody changed what is to be done.", fields: ["changed", "by", "why"] },
  noted: { meaning: "What the holder of the task says about how it goes.", fields: ["note"] },
  session_joined: {
    meaning: "A session came to work.",
    fields: ["session", "agent", "pool", "workspace", "channel", "capabilities", "slots"],
  },
  session_changed: { meaning: "A session is in another state.", fields: ["session", "state", "losses"] },
  session_left: { meaning: "A session is gone.", fields: ["session", "why"] },
  paused: {
    meaning: "Nothing new is given out: of everything, a pool, a run, or a task and what depends on it.",
    fields: ["of", "pool", "task", "by", "why"],
  },
  resumed: { meaning: "What was paused goes on.", fields: ["of", "pool", "task", "by", "why"] },
  drained: { meaning: "A drain is over; so many tasks were still out.", fields: ["of", "pool", "task", "remaining"] },
  set_back: {
    meaning:
      "The clock of the scheduler that took the run up is behind what is known of the task, by so much. Since when it waits or runs, and a back-off, are counted from here.",
    fields: ["by_ms"],
  },
  late_report_refused: {
    meaning: "Somebody reported on a claim that is no longer theirs. Nothing changed.",
    fields: ["reported"],
  },
};
