/** When it pays to try orders out, and for which run: see `rollout.ts` for how that is done. */
import { type Run, remaining } from "../../domain/run.ts";
import type { Instant } from "../../domain/time.ts";
import type { Dispatcher } from "../dispatcher.ts";
import type { Candidate } from "../queue/queue.ts";
import { canTake } from "../room/nodes.ts";
import { fits, freeAt, type Resource } from "../room/room.ts";
import type { Estimates } from "./estimates.ts";
import { type Outlook, outlookOf, type Prospect } from "./outlook.ts";
import { endsFirst } from "./rank.ts";
import { rollout } from "./rollout.ts";

/**
 * `plain`: the order a run begins with. `rollout`: several orders are tried out first, and the best one is taken. `auto`: `rollout`
 * where earlier runs have shown how far the estimates can be trusted, and tasks are long enough to make a search worth its time.
 */
export const POLICIES = ["plain", "rollout", "auto"] as const;
export type Policy = (typeof POLICIES)[number];

/** Beyond this many tasks a try costs more than it can bring. */
const TASKS_MAX = 300;
/** Orders that are tried for one decision. More than this brings little. */
const PLAYS = 20;
/** The most time that one decision may take. The clock of a simulation stands still meanwhile, so there it never ends a search. */
const DECISION_MS = 5;
/** `auto` asks for this many observations of how far estimates were off, and that they were not further off than this (σ of ln). */
const ERROR_COUNT_MIN = 20;
const ERROR_MAX = 1;
/** `auto` does not search for tasks that are shorter than the search. */
const TASK_MS_MIN = 500;

export interface LookAheadDeps {
  readonly dispatcher: Dispatcher;
  readonly policy: Policy;
  readonly now: () => Instant;
}

export class LookAhead {
  readonly #deps: LookAheadDeps;
  /** The run that is looked at, with the parts of it that do not change. */
  #prospect: Prospect | undefined;
  #decisions = 0;

  constructor(deps: LookAheadDeps) {
    this.#deps = deps;
  }

  /** Looks for a better order of the waiting tasks, if there is a choice. To be called before each round of dispatches. */
  consider(now: Instant): void {
    const { dispatcher, policy } = this.#deps;
    if (policy === "plain" || dispatcher.idle === 0) return;
    // Where several runs share, fairness decides which goes next, and no run can know what it will be given.
    const run = dispatcher.runs.soleRun;
    if (run === undefined || remaining(run) > TASKS_MAX || run.counts.ready < 2) return;
    const prospect = this.#prospectOf(run);
    if (prospect === undefined || !isContested(dispatcher.runs.waiting(run), dispatcher.idle, now)) return;
    this.#improve(prospect, outlookOf(prospect, dispatcher, now));
  }

  #improve({ run }: Prospect, outlook: Outlook): void {
    const { dispatcher, now } = this.#deps;
    const ranks = Float64Array.from(run.tasks, (task) => dispatcher.runs.rank(run, task));
    const incumbent = Float64Array.from(outlook.numbers, (no) => ranks[no] as number);
    const end = now() + DECISION_MS;
    const budget = { plays: PLAYS, isOver: () => now() >= end };
    const found = rollout(outlook, incumbent, budget, run.manifest.seed + this.#decisions++);
    if (found.ranks === incumbent) return;
    for (const [place, no] of outlook.numbers.entries()) ranks[no] = found.ranks[place] as number;
    dispatcher.runs.rerank(run, ranks);
  }

  /** Nothing when the run's estimates do not justify a search. */
  #prospectOf(run: Run): Prospect | undefined {
    if (this.#prospect?.run === run) return this.#prospect;
    const estimates = this.#deps.dispatcher.runs.estimates(run);
    if (estimates === undefined || !isWorthIt(this.#deps.policy, estimates)) return undefined;
    this.#prospect = { run, forward: endsFirst(run.graph).toReversed(), costs: estimates.costs };
    return this.#prospect;
  }
}

/** Hops are no times, so nothing can be played through with them. */
function isWorthIt(policy: Policy, { known, costs, error }: Estimates): boolean {
  if (!known || policy !== "auto") return known;
  const mean = costs.reduce((sum, cost) => sum + cost, 0) / costs.length;
  const isTried = error.count >= ERROR_COUNT_MIN && error.sumOfSquares / error.count <= ERROR_MAX ** 2;
  return isTried && mean >= TASK_MS_MIN;
}

/** Whether some of the waiting tasks fit, but not all. Only then is there a choice. */
function isContested(waiting: Iterable<Candidate>, idle: number, now: Instant): boolean {
  const asked = new Map<Resource, number>();
  let count = 0;
  let isAnyFit = false;
  for (const { shape } of waiting) {
    count++;
    isAnyFit ||= fits(shape.own, now) && shape.placements.some((placement) => canTake(placement, now));
    for (const { resource, amount } of shape.own) asked.set(resource, (asked.get(resource) ?? 0) + amount);
    for (const { resource, amount } of shape.placements[0]?.demands ?? [])
      asked.set(resource, (asked.get(resource) ?? 0) + amount);
  }
  if (!isAnyFit) return false;
  return count > idle || [...asked].some(([resource, amount]) => amount > freeAt(resource, now));
}
