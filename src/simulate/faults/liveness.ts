/** When nothing fails any more, everything ends, and soon: each thing that does not is a sentence. */
import { eligible } from "../../decide/explain/eligible.ts";
import { taskOf } from "../../domain/run.ts";
import { formatDuration, type Millis, millis, minutes, seconds } from "../../domain/time.ts";
import { isHeld, isOfSession, nameOf, type SeenTask } from "../history/seen.ts";
import type { Arena } from "./world/arena.ts";
import type { SimulatedScheduler } from "./world/scheduler.ts";

/** How soon after the last fault a scheduler is in office again. */
const BACK_WITHIN = seconds(60);
/** Within this time something must change, however long the time-outs have become. */
const STUCK_AFTER = minutes(30);
/** No worker works, and the tasks can only wait for a rate or a service, which come back much sooner. */
const IDLE_AFTER = minutes(6);
/** Within this time everything must have ended. */
const END_WITHIN = minutes(240);

export function livenessLaws(arena: Arena, sinceWell: Millis): readonly string[] {
  const { monitor, clock } = arena;
  const broken: string[] = [];
  const scheduler = arena.current;
  if (scheduler === undefined) {
    return sinceWell > BACK_WITHIN
      ? [`no scheduler is in office ${formatDuration(sinceWell)} after the last fault`]
      : [];
  }
  const left = [...monitor.checker.unfinished()];
  // With a clock that is too slow the same wait takes up to twice as long.
  const grace = arena.setOff * 2;
  const still = clock.now() - monitor.movedAt;
  const isStuck = still > STUCK_AFTER + grace || (still > IDLE_AFTER + grace && !left.some(isHeld));
  if (isStuck && left.length > 0) {
    const standings = left.map((task) => standing(scheduler, task)).join(", ");
    broken.push(`nothing has happened for ${formatDuration(millis(still))}: ${standings}`);
  }
  if (sinceWell > END_WITHIN + grace) {
    broken.push(`not everything has ended: ${left.map((task) => standing(scheduler, task)).join(", ")}`);
  }
  if (sinceWell > BACK_WITHIN) broken.push(...left.flatMap((task) => lateLaw(arena, task, scheduler.clock.now())));
  return broken;
}

/** A lease that is not renewed must end within half of its span, or within five seconds where that is longer. */
function lateLaw(arena: Arena, task: SeenTask, now: number): readonly string[] {
  if (!isHeld(task) || task.deadline === undefined || !isOfSession(task)) return [];
  const { ack } = arena.scenario.settings;
  const ttl = Math.max(ack, arena.agents.all.findLast(({ id }) => id === task.worker)?.draft.profile.ttl ?? 60_000);
  const late = now - task.deadline;
  const longest = task.deadline - now;
  if (late > Math.max(ttl / 2, 5_000)) return [`${nameOf(task)} is held ${late} ms after its lease ran out`];
  if (longest > ttl + arena.setOff * 2 + 1_000) return [`${nameOf(task)} is held for another ${longest} ms`];
  return [];
}

/** The state of the task, and the reason that the scheduler itself gives for it. */
function standing({ engine, clock }: SimulatedScheduler, task: SeenTask): string {
  const holder = task.worker === undefined ? "" : ` by ${task.worker}`;
  const run = engine.world.run(task.run.no);
  if (run === undefined) return `${nameOf(task)} is ${task.state}${holder}, and its run is not known`;
  const found = eligible(engine.pools, run, taskOf(run, task.no), undefined, clock.now());
  const why = found.ok ? "nothing stands in its way" : found.reasons.map((each) => JSON.stringify(each)).join(" and ");
  return `${nameOf(task)} is ${task.state}${holder} (${why})`;
}
