/**
 * Letting a task wait is a decision too, and the ledger records it with its evidence: for each run and pool the first task in line, whenever its
 * reason to wait changes, and once for every task that is withheld. The other tasks stand behind the first one, so a hundred thousand
 * tasks that wait for the same worker are one line in the ledger.
 */

import type { Run, RunNo } from "../../domain/run.ts";
import type { Task } from "../../domain/task.ts";
import type { Instant } from "../../domain/time.ts";
import type { WaitReason } from "../../domain/waiting/explanation.ts";
import type { Dispatcher } from "../dispatcher.ts";
import type { Notice } from "../queue/behind.ts";
import type { Candidate } from "../queue/queue.ts";
import type { Shape } from "../room/shapes.ts";
import type { Lines } from "./eligible.ts";
import { waitsOf } from "./explain.ts";

/** How many tasks are looked at in one turn; the others follow in later turns. A turn must not take longer because many tasks wait. */
const LOOKS_MAX = 32;

/** Waits for these reasons have an event of their own. */
const TOLD_BEFORE: ReadonlySet<WaitReason> = new Set(["paused", "offered", "backing-off"]);

/** What was recorded for the first task in line, and what was the case then. */
interface Told {
  readonly reason: WaitReason;
  readonly shape: Shape;
  readonly out: number;
  /** How many sessions were there. */
  readonly sessions: number;
}

export interface WaitsDeps extends Lines {
  /** The pools that have work of the run. */
  readonly linesOf: (run: Run) => Iterable<Dispatcher>;
}

export class Waits {
  readonly #deps: WaitsDeps;
  /** The runs to look at, and whether it is certain that something has changed. */
  readonly #runs = new Map<Run, boolean>();
  readonly #withheld = new Map<Candidate, true>();
  /** What was last recorded for the first task in line of each run and pool. */
  readonly #told = new Map<RunNo, Map<Dispatcher, Told>>();
  /** When the recorded wait of a withheld task began: each wait is recorded once. */
  readonly #toldAside = new WeakMap<Task, Instant>();

  constructor(deps: WaitsDeps) {
    this.#deps = deps;
  }

  /** Something about the run has changed. */
  look(run: Run): void {
    if (!this.#runs.has(run)) this.#runs.set(run, false);
  }

  /** It was the run's turn, and none of its tasks fitted. */
  passed(run: Run): void {
    this.#runs.set(run, true);
  }

  /** The task left the queue without having been given out. */
  setAside(candidate: Candidate): void {
    if (this.#toldAside.get(candidate.task) !== candidate.status.since) this.#withheld.set(candidate, true);
  }

  forget(run: Run): void {
    this.#runs.delete(run);
    this.#told.delete(run.no);
  }

  /** The waits to record since the last call. */
  *take(now: Instant): Iterable<Notice> {
    for (const [candidate] of some(this.#withheld)) yield* this.#ofAside(candidate, now);
    for (const [run, isPassed] of some(this.#runs)) {
      for (const line of this.#deps.linesOf(run)) yield* this.#ofLine(run, line, isPassed, now);
    }
  }

  *#ofAside({ run, task, status }: Candidate, now: Instant): Iterable<Notice> {
    const wait = task.status === status ? waitsOf(this.#deps, run, now)(task) : undefined;
    if (wait === undefined || TOLD_BEFORE.has(wait.reason)) return;
    this.#toldAside.set(task, status.since);
    yield { run, task, news: { kind: "waiting", wait } };
  }

  *#ofLine(run: Run, line: Dispatcher, isPassed: boolean, now: Instant): Iterable<Notice> {
    const first = line.runs.queueOf(run.no)?.first;
    const told = this.#told.get(run.no) ?? new Map<Dispatcher, Told>();
    const before = told.get(line);
    if (first === undefined) return void told.delete(line);
    const { task, shape } = first;
    if (!isPassed && isAsBefore(before, shape, line)) return;
    const wait = waitsOf(this.#deps, run, now)(task);
    if (wait === undefined || TOLD_BEFORE.has(wait.reason)) return;
    this.#told.set(
      run.no,
      told.set(line, { reason: wait.reason, shape, out: line.out, sessions: line.roster?.size ?? 0 }),
    );
    if (wait.reason !== before?.reason) yield { run, task, news: { kind: "waiting", wait } };
  }
}

/**
 * Finding the reason costs more than a turn should, and in a pool of sessions a look at each of them. So it is done only when the answer may
 * have changed: a task that waits for an idle worker still does while none is idle, and a task that waits for a session to come does until
 * the first in line has been given out.
 */
function isAsBefore(before: Told | undefined, shape: Shape, { out, idle, roster }: Dispatcher): boolean {
  if (before?.shape !== shape || before.sessions !== (roster?.size ?? 0)) return false;
  if (before.reason === "capacity") return idle === 0 || roster !== undefined;
  return before.reason === "no-match" && roster !== undefined && out <= before.out;
}

/** Takes some entries out, the oldest first. */
function some<Key, Value>(all: Map<Key, Value>): readonly (readonly [Key, Value])[] {
  if (all.size === 0) return [];
  const taken = [...all.entries().take(LOOKS_MAX)];
  for (const [key] of taken) all.delete(key);
  return taken;
}
