/** F8 and F9: no worker is idle while a task fits, and no task goes before a more urgent one. Counted from the events, not from the scheduler's own figures. */
import { PRIORITIES, type Priority } from "../../src/domain/spec.ts";
import { seededRandom } from "../../src/effects/random.ts";
import type { EngineOptions } from "../../src/engine/options.ts";
import { type Contest, contest, type Party, type Seen, type Stay, type Work } from "./contest.ts";
import { SCENARIOS, scenario, WEIGHTS } from "./scenarios.ts";

export interface IdleFigures {
  readonly moments: number;
  /** A worker was idle, a ready task would have fitted, and no room was kept for any task. */
  readonly idle: number;
  /** The same while room was kept for a task that was passed over: the cost of fairness. */
  readonly kept: number;
}

export async function countIdle(workers: number, ms: number): Promise<IdleFigures> {
  const seen = { moments: 0, idle: 0, kept: 0 };
  for (const name of SCENARIOS) {
    const { setup } = scenario(name, workers, ms, 8);
    const look = (moment: Seen): void => {
      seen.moments++;
      if (hasRoom(setup, moment)) seen[moment.reserved ? "kept" : "idle"]++;
    };
    await contest({ ...setup, look });
  }
  return seen;
}

function hasRoom(setup: Contest, { runs, out }: Seen): boolean {
  if (out.size >= setup.workers) return false;
  const free: Record<string, number> = { ...setup.capacity };
  for (const { work } of out) {
    for (const [kind, amount] of Object.entries(work.resources ?? {})) free[kind] = (free[kind] ?? 0) - amount;
  }
  return runs.some(({ tasks }) =>
    tasks.some(
      ({ status, spec }) =>
        status.state === "ready" &&
        Object.entries(spec.resources).every(([kind, amount]) => amount <= (free[kind] ?? Number.POSITIVE_INFINITY)),
    ),
  );
}

/** Starts before which a more urgent task of the same party waited that asks for no more. */
export async function countOvertaken(
  priorities: NonNullable<EngineOptions["priorities"]>,
  workers: number,
  ms: number,
): Promise<{ starts: number; overtaken: number }> {
  const random = seededRandom(9);
  const parties = WEIGHTS.map((weight): Party => {
    const count = Math.ceil(((weight / 100) * workers * ms) / 1_000);
    const tasks = Array.from({ length: count }, (): Work => {
      const priority = PRIORITIES[Math.floor(random.next() * PRIORITIES.length)] as Priority;
      return { ms: 500 + Math.floor(random.next() * 1_000), priority };
    });
    return { weight, tasks };
  });
  const seen = { starts: 0, overtaken: 0 };
  const patience = { dispatches: 1e9, wait: 1e12 } as NonNullable<EngineOptions["patience"]>;
  await contest({
    workers,
    parties,
    options: { priorities, patience },
    look: ({ runs, given }) => {
      seen.starts += given.length;
      for (const stay of given) if (wasOvertaken(stay, runs[stay.party])) seen.overtaken++;
    },
  });
  return seen;
}

function wasOvertaken({ work }: Stay, run: Seen["runs"][number] | undefined): boolean {
  const own = PRIORITIES.indexOf(work.priority as Priority);
  return (
    run?.tasks.some(({ status, spec }) => status.state === "ready" && PRIORITIES.indexOf(spec.priority) < own) ?? false
  );
}
