/** One seed from the beginning to the end: its history, and every law that was broken in it. The same seed gives the same bytes. */
import { createHash } from "node:crypto";
import { type Instant, later, type Millis, millis, seconds } from "../../domain/time.ts";
import { replayAll } from "../../store/replay.ts";
import { isEnded } from "../history/seen.ts";
import { calm, startMischief } from "./actors/mischief.ts";
import { livenessLaws } from "./liveness.ts";
import { rowLaws } from "./row-laws.ts";
import { type Limits, type Scenario, scenarioOf } from "./seed/scenario.ts";
import { Arena } from "./world/arena.ts";

export interface Trial {
  readonly seed: number;
  readonly scenario: Scenario;
  /** Every law that was broken, in the order it was seen. */
  readonly violations: readonly string[];
  /** Of everything that happened and that was written. */
  readonly digest: string;
  /** How long it took, on virtual time. */
  readonly lasted: Millis;
  readonly events: number;
  readonly claims: number;
  readonly tasks: number;
  /** Tasks that were acknowledged and have not ended. */
  readonly lost: number;
  readonly waits: readonly number[];
  readonly latencies: readonly number[];
  /** What happened, line by line, when that was asked for. */
  readonly trace: readonly string[];
}

const LOOK_EVERY = seconds(10);
const RESTART_MAX = 5_000;

export async function tryOut(seed: number, limits: Limits = {}, keepsTrace = false): Promise<Trial> {
  const scenario = scenarioOf(seed, limits);
  const arena = new Arena(scenario, keepsTrace);
  using _medium = arena.medium;
  const { clock, monitor } = arena;
  const isBroken = (): boolean => monitor.violations.length > 0;
  supervise(arena);
  startMischief(arena);
  const wellAt = later(clock.now(), scenario.span);
  clock.at(wellAt, () => {
    calm(arena);
    lookAfter(arena, wellAt);
  });
  await clock.run(() => isBroken() || arena.isOver || (arena.isWell && hasEnded(arena)));
  if (!isBroken() && !arena.isOver && !hasEnded(arena))
    monitor.violate("time stands still, and not everything has ended");
  for (const scheduler of arena.schedulers) arena.kill(scheduler, "the end");
  if (!isBroken()) await (arena.isOver ? inspectRemains(arena) : inspect(arena));
  return await judge(arena);
}

/** The supervisor of the machine: starts a scheduler again when it is gone. */
function supervise(arena: Arena): void {
  const chance = arena.chance.fork("supervisor");
  const look = (): void => {
    if (arena.isWell) endReplaced(arena);
    if (arena.schedulers.every(({ life }) => !life.isAlive)) void arena.boot();
    arena.after(arena.isWell ? seconds(1) : chance.span(50, RESTART_MAX), look);
  };
  look();
}

/** A replaced scheduler that has nothing to write does not notice it: the supervisor ends it. */
function endReplaced(arena: Arena): void {
  for (const scheduler of arena.schedulers) {
    if (scheduler.isReady && scheduler.epoch < arena.disk.epoch) arena.kill(scheduler, "it was replaced");
  }
}

function lookAfter(arena: Arena, wellAt: Instant): void {
  const { monitor, clock, people } = arena;
  const sinceWell = millis(clock.now() - wellAt);
  for (const law of livenessLaws(arena, sinceWell)) monitor.violate(law);
  people.clearUp();
  arena.agents.callHelp(monitor.checker.unfinished());
  arena.after(LOOK_EVERY, () => lookAfter(arena, wellAt));
}

function hasEnded({ people, monitor, scenario }: Arena): boolean {
  if (!people.haveSubmitted || monitor.checker.runs.size < scenario.plans.length) return false;
  for (const { state } of monitor.checker.runs.values()) if (state !== "finished") return false;
  return true;
}

/** The state after everything has ended: nothing runs, and the rows say what the history says. */
async function inspect({ monitor, machine, medium }: Arena): Promise<void> {
  for (const name of machine.living) monitor.violate(`${name} still runs, and everything has ended`);
  await medium.look(async (store) => {
    for (const { no } of await store.runs()) {
      const stored = await store.load(no);
      if (stored === undefined) monitor.violate(`run ${no} is listed, and cannot be read`);
      for (const row of stored?.tasks ?? []) {
        for (const law of rowLaws(row, monitor.checker.task(no, row.task))) monitor.violate(law);
      }
    }
    const events = await store.events({});
    if (events.length !== monitor.checker.seq)
      monitor.violate(`${events.length} events are kept, of ${monitor.checker.seq}`);
    for (const line of [...(await store.check()), ...(await replayAll(store))]) monitor.violate(line);
  });
}

/** The files after a power cut that may have taken answered commits. */
async function inspectRemains({ monitor, medium }: Arena): Promise<void> {
  for (const law of await medium.remains()) monitor.violate(law);
}

async function judge(arena: Arena): Promise<Trial> {
  const { monitor, scenario, trace, agents, medium } = arena;
  const events = await medium.look((store) => store.events({}));
  const ledger = createHash("sha256").update(JSON.stringify(events)).digest("hex");
  trace.add(`ledger ${ledger}`);
  const tasks = [...monitor.checker.runs.values()].flatMap((run) => run.tasks);
  return {
    seed: scenario.seed,
    scenario,
    violations: monitor.violations,
    digest: trace.digest(),
    lasted: arena.elapsed,
    events: monitor.events,
    claims: monitor.claims,
    tasks: tasks.length,
    lost: arena.isOver ? 0 : tasks.filter((task) => !isEnded(task)).length,
    waits: monitor.waits,
    latencies: agents.latencies,
    trace: trace.lines,
  };
}
