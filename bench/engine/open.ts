/** The engine in process, as benchmarks use it: the real store, every commit synced, and an executor that starts nothing. */
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runId, taskId, workerId } from "../../src/domain/ids.ts";
import type { RunManifest } from "../../src/domain/run.ts";
import { SPEC_DEFAULTS, type TaskSpec } from "../../src/domain/spec.ts";
import { millis } from "../../src/domain/time.ts";
import { systemClock } from "../../src/effects/clock.ts";
import { ownIdentity } from "../../src/effects/host.ts";
import { systemSecrets } from "../../src/effects/random.ts";
import { Engine } from "../../src/engine/engine.ts";
import { openInlineExecutor } from "../../src/execute/inline/executor.ts";
import { openSqliteStore } from "../../src/store/sqlite/store.ts";

const clock = systemClock();
export const directory = mkdtempSync(join(tmpdir(), "rota-bench-"));
export const file = join(directory, "rota.db");

/** Chains side by side: every task but the first of each chain has a dependency. */
export const chains = (count: number, width: number): readonly TaskSpec[] =>
  Array.from({ length: count }, (_, no) => ({
    ...SPEC_DEFAULTS,
    id: taskId(`task-${no}`),
    run: { shell: "true" },
    needs: no < width ? [] : [taskId(`task-${no - width}`)],
  }));

export const manifest = (): RunManifest => ({
  id: runId("bench-1"),
  name: "bench",
  submittedAt: clock.now(),
  directory,
  file: "bench.yaml",
  digest: "none",
  seed: 1,
  resources: {},
  carried: [],
});

/** `began` is called when a task would start. */
export async function openEngine(workers: number, began: () => void = () => undefined) {
  const store = openSqliteStore(file);
  const owner = { process: ownIdentity(), host: "bench", command: "bench", since: clock.now(), workers, capacity: {} };
  const acquired = await store.acquire(owner);
  if (!acquired.ok) throw new Error("the bench store is its own");
  const engine = new Engine({
    store,
    epoch: acquired.value.epoch,
    clock,
    secrets: systemSecrets(),
    executor: openInlineExecutor(() => {
      began();
      return { kind: "success", durationMs: millis(0) };
    }),
    logOf: () => "",
    options: {
      workers: Array.from({ length: workers }, (_, index) => workerId(`inline/${index}`)),
      capacity: {},
      capabilities: [],
      // As whatever lives for long has it.
      forgets: true,
    },
  });
  await engine.open();
  return { store, engine };
}
