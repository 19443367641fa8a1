/** One run and its events for tests, made as the engine makes them: each event is folded in, at a time the test chooses. */
import type { Event, RunNews, TaskNews } from "../../src/domain/event.ts";
import { runId, taskId, workerId } from "../../src/domain/ids.ts";
import type { Outcome } from "../../src/domain/outcome.ts";
import { reduce } from "../../src/domain/reduce.ts";
import { findTask, type Run, type RunManifest, runNo } from "../../src/domain/run.ts";
import { type TaskSpec, unpackSpec } from "../../src/domain/spec.ts";
import { isHeld, type Task } from "../../src/domain/task.ts";
import { type Instant, instant, later, type Millis, millis, seconds } from "../../src/domain/time.ts";
import { World } from "../../src/domain/world.ts";

/** Noon, so that clock times in snapshots read easily. */
export const NOON = instant(Date.UTC(2026, 2, 14, 12, 0, 0));

/** A spec with names as plain text. */
export type SpecSketch = Omit<Partial<TaskSpec>, "id" | "needs" | "after"> & {
  readonly needs?: readonly string[];
  readonly after?: readonly string[];
};

export class RunFixture {
  readonly world = new World();
  readonly events: Event[] = [];
  now: Instant = NOON;

  constructor(tasks: Readonly<Record<string, SpecSketch>>, manifest: Partial<RunManifest> = {}) {
    const specs = Object.entries(tasks).map(([id, { needs = [], after = [], ...sketch }]) =>
      unpackSpec({
        id: taskId(id),
        run: { shell: `./${id}.sh` },
        needs: needs.map(taskId),
        after: after.map(taskId),
        ...sketch,
      }),
    );
    this.ofRun({
      kind: "run_submitted",
      specs,
      manifest: {
        id: runId("release-7f3a2c"),
        name: "release",
        submittedAt: this.now,
        directory: "/home/ada/app",
        file: "/home/ada/app/release.yaml",
        digest: "d1",
        seed: 1,
        resources: {},
        carried: [],
        ...manifest,
      },
    });
  }

  get run(): Run {
    return this.world.run(runNo(1)) as Run;
  }

  task(id: string): Task {
    return findTask(this.run, taskId(id)) as Task;
  }

  /** Lets this many seconds pass. */
  pass(count: number): this {
    this.now = later(this.now, seconds(count));
    return this;
  }

  claim(id: string, worker = "local/1"): this {
    const { spec, status } = this.task(id);
    const waitedMs = millis(status.state === "ready" ? this.now - status.since : 0);
    const evidence = { lane: spec.priority, rank: 1, waitedMs };
    const deadline = later(this.now, seconds(30));
    const claimed = { kind: "claimed", worker: workerId(worker), deadline, evidence, tokenHash: "secret" } as const;
    return this.of(id, claimed);
  }

  /** Claimed and started at once. */
  start(id: string, worker = "local/1"): this {
    return this.claim(id, worker).of(id, { kind: "started" });
  }

  succeed(id: string): this {
    return this.of(id, { kind: "succeeded", outcome: { kind: "success", durationMs: this.#ran(id) } });
  }

  fail(id: string, code = 1): this {
    return this.of(id, { kind: "failed", outcome: this.exit(id, code), reason: "abandoned" });
  }

  /** Fails, and may go again after so many seconds. */
  retry(id: string, after: number, code = 1): this {
    const notBefore = later(this.now, seconds(after));
    return this.of(id, { kind: "retried", outcome: this.exit(id, code), notBefore, costs: true });
  }

  skip(id: string, because: string): this {
    return this.of(id, { kind: "skipped", because: this.task(because).no });
  }

  exit(id: string, code: number): Outcome {
    return { kind: "exit", code, durationMs: this.#ran(id) };
  }

  of(id: string, news: TaskNews): this {
    const task = this.task(id);
    const recorded = news.kind !== "lease_renewed";
    return this.#fold({
      ...news,
      seq: this.world.seq + (recorded ? 1 : 0),
      at: this.now,
      run: runNo(1),
      task: task.no,
      version: task.version + (recorded ? 1 : 0),
      attempt: task.attempt + (news.kind === "claimed" ? 1 : 0),
    });
  }

  ofRun(news: RunNews): this {
    return this.#fold({ ...news, seq: this.world.seq + 1, at: this.now, run: runNo(1) });
  }

  #ran(id: string): Millis {
    const { status } = this.task(id);
    return millis(isHeld(status) ? this.now - status.since : 0);
  }

  #fold(event: Event): this {
    reduce(this.world, event, []);
    this.events.push(event);
    return this;
  }
}
