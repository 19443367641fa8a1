/** The steps of the ladder that an actor has not taken yet: when it fails, it is told again with the next cycle. */
import type { Task } from "../../domain/task.ts";
import { type Escalation, nameOf } from "./wake-port.ts";

export class Escalations {
  readonly #hear: ((escalation: Escalation) => Promise<void>) | undefined;
  readonly #untold = new Map<Task, Escalation>();

  constructor(hear: ((escalation: Escalation) => Promise<void>) | undefined) {
    this.#hear = hear;
  }

  /** Of one task only the last step counts. */
  add(escalation: Escalation): void {
    if (this.#hear !== undefined) this.#untold.set(escalation.pending.task, escalation);
  }

  /** Errors of the actor are added to `errors`. */
  async tell(errors: string[]): Promise<void> {
    for (const [task, escalation] of this.#untold) {
      try {
        if (isStill(escalation)) await this.#hear?.(escalation);
        this.#untold.delete(task);
      } catch (error) {
        errors.push(`${nameOf(escalation.pending)}: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
  }
}

/** Whether the task still is as the step says: a task that was claimed meanwhile is no escalation any more. */
const isStill = ({ kind, pending: { task } }: Escalation): boolean =>
  task.status.state === (kind === "parked" ? "parked" : "ready");
