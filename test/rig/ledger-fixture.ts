/** Makes what a store is given in tests: batches of events and rows, made as the engine makes them, by the same journal and reducer. */

import type { Usage } from "../../src/domain/amounts/usage.ts";
import type { TaskNews } from "../../src/domain/event.ts";
import { runId, taskId, workerId } from "../../src/domain/ids.ts";
import { type Run, type RunManifest, runNo, taskOf } from "../../src/domain/run.ts";
import type { TaskSpec } from "../../src/domain/spec.ts";
import { instant, later, millis, minutes, seconds } from "../../src/domain/time.ts";
import { World } from "../../src/domain/world.ts";
import { PendingBatch } from "../../src/engine/turn/pending-batch.ts";
import type { Batch } from "../../src/store/store.ts";
import { identity, manifest, no, success, task } from "./builders.ts";
import { START } from "./clock.ts";

export const NOW = later(START, seconds(1));
export const FIRST = runNo(1);

export class LedgerFixture {
  readonly world = new World();
  readonly pending = new PendingBatch(this.world, () => {});

  submit(specs: readonly TaskSpec[], rest: Partial<RunManifest> = {}, run = FIRST): Run {
    this.pending.ofRun(run, { kind: "run_submitted", manifest: manifest(rest), specs }, START);
    return this.world.run(run) as Run;
  }

  /** Adds the news about one task, one after the other. */
  write(run: Run, taskNumber: number, ...news: readonly TaskNews[]): this {
    for (const each of news) this.pending.ofTask(run, taskOf(run, no(taskNumber)), each, NOW);
    return this;
  }
}

export const claimed: TaskNews & { readonly kind: "claimed" } = {
  kind: "claimed",
  worker: workerId("w1"),
  deadline: later(NOW, seconds(30)),
  evidence: { lane: "normal", rank: 2, waitedMs: millis(0) },
  tokenHash: "hash-of-a-token",
};
export const started: TaskNews = { kind: "started", process: identity(12) };
export const asked = { by: "mo", why: "enough" };

/** One run in which some task is in each state, with everything a state can carry. */
export function everyState(epoch: number): { readonly run: Run; readonly batch: Batch } {
  const fixture = new LedgerFixture();
  const run = fixture.submit(
    [FULL, ...WORDS.map((id) => task(id, { gate: id === "gated" ? "sure?" : "" }))].map(plain),
    {
      resources: { claude: 3 },
      carried: [no(WORDS.indexOf("carried") + 1)],
      retryOf: runId("run-0"),
    },
  );
  const at = (word: (typeof WORDS)[number]): number => WORDS.indexOf(word) + 1;
  const usage: Usage = { cpuMs: { amount: 3, source: "measured" }, peakBytes: { amount: 4_096, source: "sampled" } };
  const outcome = { ...success, usage };
  const spawn = { kind: "spawn", message: "no such file", durationMs: millis(0) } as const;
  const notBefore = later(NOW, seconds(9));
  const work = { kind: "success", durationMs: millis(5) } as const;
  const verifying = {
    kind: "verifying",
    worker: workerId("local/verify"),
    deadline: notBefore,
    outcome: work,
  } as const;
  fixture
    .write(run, at("claimed"), claimed)
    .write(run, at("set back"), { kind: "set_back", by: seconds(100) })
    .write(run, at("stopped early"), claimed, { kind: "stopping", reason: { kind: "cancelled", asked } })
    .write(run, at("running"), claimed, started, { kind: "lease_renewed", deadline: instant(NOW + 60_000) })
    .write(run, at("inline"), claimed, { kind: "started" }, { kind: "silent", forMs: millis(300) })
    .write(run, at("stopping"), claimed, started, { kind: "stopping", reason: { kind: "timeout", limit: "soft" } })
    .write(run, at("verifying"), claimed, started, verifying, started)
    .write(run, at("verified again"), claimed, started, verifying, started, verifying)
    .write(run, at("succeeded"), claimed, started, { kind: "succeeded", outcome })
    .write(run, at("failed"), claimed, { kind: "failed", outcome: spawn, reason: "permanent" })
    .write(run, at("retried"), claimed, started, { kind: "retried", outcome: spawn, notBefore, costs: true })
    .write(run, at("expired"), claimed, started, { kind: "expired", worker: workerId("w1"), notBefore })
    .write(run, at("released"), claimed, { kind: "released", why: "the scheduler was restarted" })
    .write(run, at("cancelled"), { kind: "cancelled", asked })
    .write(run, at("skipped"), { kind: "skipped", because: no(at("failed")) })
    .write(run, at("parked"), claimed, { kind: "parked", reason: "attention", outcome: spawn })
    .write(run, at("requeued"), claimed, { kind: "parked", reason: "poison" }, { kind: "requeued", asked })
    .write(run, at("approved"), { kind: "approved", asked })
    .write(run, at("late"), { kind: "late_report_refused", fence: 1, reported: "success" });
  return { run, batch: fixture.pending.take(epoch) };
}

const WORDS = [
  "claimed",
  "verifying",
  "verified again",
  "set back",
  "stopped early",
  "running",
  "inline",
  "stopping",
  "succeeded",
  "failed",
  "retried",
  "expired",
  "released",
  "cancelled",
  "skipped",
  "parked",
  "requeued",
  "approved",
  "gated",
  "late",
  "carried",
  "untouched",
] as const;

/** Ids with a space are not ids, and only one task here has a gate. */
const plain = ({ gate, ...spec }: TaskSpec): TaskSpec => ({
  ...spec,
  id: taskId(spec.id.replace(" ", "-")),
  ...(gate && { gate }),
});

/** A task that leaves nothing out. */
const FULL: TaskSpec = {
  ...task("full", {
    title: "Everything — 你好 \u{1f680}",
    run: { shell: "a | b" },
    needs: ["claimed"],
    after: ["running"],
    onFailure: "continue",
    priority: "critical",
    requires: ["gpu"],
    resources: { cpu: 500, memory: 2 ** 40, claude: 1 },
    reads: ["src/**"],
    writes: ["dist/"],
    // A key that is a word of the language is a key like any other.
    env: JSON.parse('{"CI":"1","TOKEN":{"from":"SECRET"},"__proto__":"x","EMPTY":""}'),
    cwd: "sub",
    retry: { attempts: 4, backoff: millis(5), factor: 1.5, max: seconds(9), on: [1, 75] },
    timeout: { soft: seconds(1), hard: seconds(2) },
    progress: seconds(3),
    estimate: minutes(4),
    gate: "sure?",
    verify: { argv: ["test", "-f", "x"] },
    memoryLimit: 2 ** 33,
    labels: { team: "a" },
  }),
};
