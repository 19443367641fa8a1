/** Agents on virtual time: sessions that join a pool, claim, work for as long as the task lasts, and claim again. */
import { type WorkerId, workerId } from "../domain/ids.ts";
import { later, type Millis, millis } from "../domain/time.ts";
import type { Clock } from "../effects/clock.ts";
import type { Engine } from "../engine/engine.ts";
import type { Duration } from "./executor.ts";

/** The sessions of each pool, in the order of their numbers. A dash, because a slash stands in the names of local workers. */
export const sessionsOf = (pools: Readonly<Record<string, number>>): readonly (readonly [WorkerId, string])[] =>
  Object.entries(pools).flatMap(([pool, size]) =>
    Array.from({ length: size }, (_, at) => [workerId(`${pool}-${at + 1}`), pool] as const),
  );

interface Surroundings {
  readonly engine: Engine;
  readonly clock: Clock;
  readonly lasts: (task: Parameters<Duration>[0]["task"]) => Millis;
  /** How long a session waits in a claim, and keeps a task without a sign of life. */
  readonly staysFor: Millis;
}

/** Kept once all have joined. They work until the engine closes. */
export async function bringSessions(pools: Readonly<Record<string, number>>, around: Surroundings): Promise<void> {
  for (const [id, pool] of sessionsOf(pools)) {
    await around.engine.api.join({ id, agent: pool, pool, capabilities: [], slots: 1, ttl: around.staysFor });
    void work(id, around);
  }
}

async function work(session: WorkerId, { engine, clock, lasts, staysFor }: Surroundings): Promise<void> {
  for (;;) {
    const granted = await engine.api.claim({ session, wait: staysFor });
    if (granted === undefined) return;
    const { run, task, fence, token } = granted;
    const durationMs = lasts(task.spec.id);
    const claimed = { run: run.manifest.id, task: task.spec.id, fence, token };
    await new Promise<void>((done) => void clock.at(later(clock.now(), durationMs), done));
    await engine.api.report(claimed, {
      kind: "complete",
      outcome: { kind: "success", durationMs: millis(durationMs) },
    });
  }
}
