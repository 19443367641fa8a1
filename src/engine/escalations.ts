/** What the ladder led to, until it was heard: an actor that fails is told again with the next cycle. */
import type { Task } from "../domain/task.ts";
import { type Escalation, nameOf } from "./cycle-port.ts";

export class Escalations {
  readonly #hear: ((escalation: Escalation) => Promise<void>) | undefined;
  readonly #untold = new Map<Task, Escalation>();

  constructor(hear: ((escalation: Escalation) => Promise<void>) | undefined) {
    this.#hear = hear;
  }

  /** Of one task only the last counts. */
  add(escalation: Escalation): void {
    if (this.#hear !== undefined) this.#untold.set(escalation.pending.task, escalation);
  }

  /** What went wrong is added to `errors`. */
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

/** Whether it is as it was told: what was taken up meanwhile is no escalation any more. */
const isStill = ({ kind, pending: { task } }: Escalation): boolean =>
  task.status.state === (kind === "parked" ? "parked" : "ready");
