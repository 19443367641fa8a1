/** Whether a run has come to its end, and which callers wait for that. */

import { durationSamplesOf } from "../../decide/order/duration-samples.ts";
import type { Pools } from "../../decide/pools.ts";
import { judgeRun } from "../../decide/rules/finish.ts";
import type { Run } from "../../domain/run.ts";
import type { Keys } from "../sessions/keys.ts";
import type { SessionReports } from "../sessions/session-reports.ts";
import type { Turn } from "../turn/turn.ts";

export interface VerdictsDeps {
  readonly pools: Pools;
  readonly reports: SessionReports;
  readonly keys: Keys;
}

export class RunJudge {
  readonly #deps: VerdictsDeps;
  readonly #waiters = new Map<Run, Set<(run: Run) => void>>();

  constructor(deps: VerdictsDeps) {
    this.#deps = deps;
  }

  /** Resolves when the run cannot go on by itself, or when its caller does not wait any more. */
  awaited(run: Run, until?: AbortSignal): Promise<Run> {
    return new Promise<Run>((resolve) => {
      const waiters = this.#waiters.get(run) ?? new Set();
      this.#waiters.set(run, waiters.add(resolve));
      until?.addEventListener("abort", () => waiters.delete(resolve) && resolve(run));
    });
  }

  /** `dispatching`: whether the scheduler gives out tasks. While it does not, a run that waits for that is not stalled. */
  judge(turn: Turn, run: Run, dispatching: boolean): void {
    const { pools } = this.#deps;
    const { now, pending } = turn;
    if (run.status.state === "active") {
      if (!pools.knows(run)) return;
      const verdict = judgeRun(run, () => dispatching && pools.canMove(run));
      if (verdict.kind === "going") return;
      if (verdict.kind === "finished") {
        pending.ofRun(run.no, { kind: "run_finished", outcome: verdict.outcome }, now);
        this.#conclude(turn, run);
      } else if (dispatching) {
        const { remaining, outcome } = verdict;
        pending.ofRun(run.no, { kind: "run_stalled", remaining, outcome }, now);
      }
    }
    const waiters = this.#waiters.get(run) ?? [];
    this.#waiters.delete(run);
    // With the answers: by then every listener has heard of the events that led to this.
    for (const tell of waiters) turn.answer(() => tell(run));
  }

  /** Keeps the durations of the run; nothing else of it is needed. */
  #conclude({ pending }: Turn, run: Run): void {
    const { pools, reports, keys } = this.#deps;
    pending.learn(run.manifest.name, durationSamplesOf(run));
    pools.dismiss(run);
    reports.forget(run);
    keys.forget(run.tasks.map(({ spec }) => spec));
  }
}
