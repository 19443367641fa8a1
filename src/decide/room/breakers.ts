/** The breakers of all services that tasks depend on. */
import { type Event, isAttemptEnd, isTaskEvent } from "../../domain/event.ts";
import type { Run } from "../../domain/run.ts";
import type { Task } from "../../domain/task.ts";
import type { Instant } from "../../domain/time.ts";
import { FAILURE_POLICY } from "../rules/policy.ts";
import { admits, type Breaker, CLOSED, returned, sent } from "./breaker.ts";

export class Breakers {
  readonly #breakers = new Map<string, Breaker>();
  /** Tasks that were sent to see whether a service is back. */
  readonly #trials = new Set<Task>();

  admits(provider: string, now: Instant): boolean {
    return admits(this.of(provider), now);
  }

  of(provider: string): Breaker {
    return this.#breakers.get(provider) ?? CLOSED;
  }

  sent(provider: string, task: Task, now: Instant): void {
    if (this.#trials.has(task)) return;
    const after = sent(this.of(provider), now);
    this.#breakers.set(provider, after);
    if (after.state === "half-open") this.#trials.add(task);
  }

  /** The event that ended an attempt says how the service did. A task that was sent before the trials began says nothing about them. */
  returned(provider: string, task: Task, cause: Event): void {
    const wasTrial = this.#trials.delete(task);
    const breaker = this.of(provider);
    if (breaker.state === "half-open" && !wasTrial) return;
    this.#breakers.set(provider, returned(breaker, verdictOf(cause), cause.at));
  }

  /** What the ledger of a run says about the services it depends on. */
  recall({ tasks }: Run, events: readonly Event[]): void {
    for (const event of events) {
      if (!isTaskEvent(event)) continue;
      const task = tasks[event.task] as Task;
      const { provider } = task.spec;
      if (provider === undefined) continue;
      if (event.kind === "claimed") this.sent(provider, task, event.at);
      else if (isAttemptEnd(event.kind)) this.returned(provider, task, event);
    }
  }

  /** The next moment at which a service may be tried again. */
  nextTrial(now: Instant): Instant | undefined {
    let next: Instant | undefined;
    for (const breaker of this.#breakers.values()) {
      if (breaker.state !== "open" || breaker.until <= now) continue;
      if (next === undefined || breaker.until < next) next = breaker.until;
    }
    return next;
  }
}

function verdictOf(cause: Event): "success" | "failure" | "nothing" {
  if (cause.kind === "succeeded") return "success";
  if (!("outcome" in cause) || typeof cause.outcome !== "object") return "nothing";
  const { kind } = cause.outcome;
  if (kind === "success") return "success";
  return FAILURE_POLICY[kind].service ? "failure" : "nothing";
}
