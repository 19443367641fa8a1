/** A dispatcher that follows a World to which the test makes things happen, without an engine. */
import { Dispatcher } from "../../src/decide/dispatcher.ts";
import type { DispatcherOptions } from "../../src/decide/dispatcher-parts.ts";
import type { TaskNews } from "../../src/domain/event.ts";
import { runId, workerId } from "../../src/domain/ids.ts";
import type { Outcome } from "../../src/domain/outcome.ts";
import { type Run, type RunManifest, runNo } from "../../src/domain/run.ts";
import type { TaskSpec } from "../../src/domain/spec.ts";
import { isHeld, type Task } from "../../src/domain/task.ts";
import { instant, later, millis, seconds } from "../../src/domain/time.ts";
import { World } from "../../src/domain/world.ts";
import { PendingBatch } from "../../src/engine/turn/pending-batch.ts";
import { manifest, success } from "./builders.ts";
import { START } from "./clock.ts";

export type FloorOptions = Partial<Omit<DispatcherOptions, "workers">> & { readonly workers?: number };

export const slots = (count: number, node = "w") =>
  Array.from({ length: count }, (_, at) => workerId(`${node}${at + 1}`));

/** Who was given what. */
export interface Given {
  readonly run: Run;
  readonly task: Task;
  readonly worker: string;
}

export class Floor {
  readonly world = new World();
  readonly dispatcher: Dispatcher;
  /** Everything that was noticed, as `task: kind`. */
  readonly noticed: string[] = [];
  readonly #pending: PendingBatch;
  now = START;
  #runs = 0;

  constructor({ workers = 1, ...rest }: FloorOptions = {}) {
    this.dispatcher = new Dispatcher({ capacity: {}, capabilities: [], ...rest, workers: slots(workers) });
    this.#pending = new PendingBatch(this.world, (change) => this.dispatcher.observe(change));
  }

  get runs(): readonly Run[] {
    return [...this.world.runs.values()];
  }

  submit(specs: readonly TaskSpec[], rest: Partial<RunManifest> = {}): Run {
    const no = runNo(++this.#runs);
    const given = manifest({ id: runId(`run-${no}`), submittedAt: this.now, ...rest });
    this.#pending.ofRun(no, { kind: "run_submitted", manifest: given, specs }, this.now);
    const run = this.world.run(no) as Run;
    this.dispatcher.admit(run);
    return run;
  }

  happen(run: Run, task: Task, news: TaskNews): void {
    this.#pending.ofTask(run, task, news, this.now);
  }

  pass(ms: number): this {
    this.now = instant(this.now + ms);
    return this;
  }

  /** What the dispatcher gives out next, claimed. */
  claimNext(): Given | undefined {
    const next = this.dispatcher.next(this.now);
    if (next === undefined) return undefined;
    const { run, task, worker, evidence } = next;
    const deadline = later(this.now, seconds(30));
    this.happen(run, task, { kind: "claimed", worker, evidence, deadline, tokenHash: "h" });
    return next;
  }

  /** A whole round, as the engine makes it: who has waited too long moves up, then everything goes that can. */
  round(): readonly string[] {
    this.age();
    const given: string[] = [];
    for (let next = this.claimNext(); next !== undefined; next = this.claimNext()) given.push(next.task.spec.id);
    this.#note(this.dispatcher.takeNotices());
    return given;
  }

  age(): void {
    this.#note(this.dispatcher.age(this.now));
  }

  end(run: Run, task: Task, outcome: Outcome = success): void {
    if (outcome.kind === "success") this.happen(run, task, { kind: "succeeded", outcome });
    else this.happen(run, task, { kind: "failed", outcome, reason: "permanent" });
  }

  /** The task by its id, of whichever run. */
  find(id: string): { readonly run: Run; readonly task: Task } {
    for (const run of this.runs) {
      const task = run.tasks.find(({ spec }) => spec.id === id);
      if (task !== undefined) return { run, task };
    }
    throw new Error(`there is no task ${id}`);
  }

  /** Ends the task well, and gives out what can go then. */
  finish(id: string): readonly string[] {
    const { run, task } = this.find(id);
    this.end(run, task);
    return this.round();
  }

  held(): readonly Given[] {
    return this.runs.flatMap((run) =>
      run.tasks.flatMap((task) => (isHeld(task.status) ? [{ run, task, worker: task.status.lease.worker }] : [])),
    );
  }

  #note(notices: readonly { readonly run: Run; readonly task: Task; readonly news: TaskNews }[]): void {
    for (const { run, task, news } of notices) {
      this.happen(run, task, news);
      this.noticed.push(`${task.spec.id}: ${news.kind}`);
    }
  }
}

export const failure: Outcome = { kind: "exit", code: 1, durationMs: millis(5) };
