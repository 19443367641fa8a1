/** Whether a run has come to its end, and who waits to hear of it. */
import { judgeRun } from "../decide/finish.ts";
import { lessonsOf } from "../decide/lessons.ts";
import type { Pools } from "../decide/pools.ts";
import type { Run } from "../domain/run.ts";
import type { Instant } from "../domain/time.ts";
import type { Histories } from "./histories.ts";
import type { Journal } from "./journal.ts";
import type { Leases } from "./leases.ts";
import type { Outbox } from "./outbox.ts";

export interface VerdictsDeps {
  readonly pools: Pools;
  readonly leases: Leases;
  readonly histories: Histories;
  readonly journal: Journal;
  readonly outbox: Outbox;
}

export class Verdicts {
  readonly #deps: VerdictsDeps;
  readonly #waiters = new Map<Run, Set<(run: Run) => void>>();

  constructor(deps: VerdictsDeps) {
    this.#deps = deps;
  }

  /** Kept when nothing of the run can go on by itself, or nobody waits for it any more. */
  awaited(run: Run, until?: AbortSignal): Promise<Run> {
    return new Promise<Run>((resolve) => {
      const waiters = this.#waiters.get(run) ?? new Set();
      this.#waiters.set(run, waiters.add(resolve));
      until?.addEventListener("abort", () => waiters.delete(resolve) && resolve(run));
    });
  }

  /** `dispatching`: whether anything is given out. A run of which nothing is does not stall. */
  judge(now: Instant, run: Run, dispatching: boolean): void {
    const { pools, journal, outbox } = this.#deps;
    if (run.status.state === "active") {
      if (!pools.knows(run)) return;
      const verdict = judgeRun(run, () => dispatching && pools.canMove(run));
      if (verdict.kind === "going") return;
      if (verdict.kind === "finished") {
        journal.ofRun(run.no, { kind: "run_finished", outcome: verdict.outcome }, now);
        this.#conclude(run);
      } else if (dispatching) journal.ofRun(run.no, { kind: "run_stalled", remaining: verdict.remaining }, now);
    }
    const waiters = this.#waiters.get(run) ?? [];
    this.#waiters.delete(run);
    // With the answers: by then whoever listens has heard of everything that led to this.
    for (const tell of waiters) outbox.answer(() => tell(run));
  }

  /** What it has taught is kept; nothing else of it is needed. */
  #conclude(run: Run): void {
    const { pools, leases, histories, journal } = this.#deps;
    journal.learn(run, () => {
      const lessons = lessonsOf(run);
      histories.learn(run.manifest.name, lessons);
      return lessons;
    });
    pools.dismiss(run);
    leases.forget(run);
  }
}
