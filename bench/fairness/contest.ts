/** Several runs that share the workers of one real engine, on virtual time: who had what, and when. */
import { NO_HISTORY } from "../../src/domain/durations/history.ts";
import { runId, taskId, workerId } from "../../src/domain/ids.ts";
import type { Run, RunManifest } from "../../src/domain/run.ts";
import { type Amounts, type Priority, SPEC_DEFAULTS, type TaskSpec } from "../../src/domain/spec.ts";
import { type Instant, instant, type Millis, millis } from "../../src/domain/time.ts";
import { Engine } from "../../src/engine/engine.ts";
import type { EngineOptions } from "../../src/engine/options.ts";
import { VirtualClock } from "../../src/simulate/clock.ts";
import { simulatedExecutor } from "../../src/simulate/executor.ts";
import { forgetfulStore } from "../../src/store/memory/forgetful.ts";
import type { Request } from "../../src/store/store.ts";

/** A party that asks for a share: a run of independent tasks, all ready from the beginning. */
export interface Party {
  readonly weight: number;
  readonly tasks: readonly Work[];
}
export interface Work {
  readonly ms: number;
  readonly resources?: Amounts;
  readonly priority?: Priority;
  /** Not before the gate is opened. */
  readonly later?: true;
}

export interface Contest {
  readonly workers: number;
  readonly capacity?: Amounts;
  readonly parties: readonly Party[];
  readonly options?: Partial<EngineOptions>;
  /** When to stop; at the end of all work when it is not given. */
  readonly until?: number;
  /** When the gates are opened. */
  readonly opensAt?: number;
  /** Is called after every turn that gave something out or took something back. */
  readonly look?: (seen: Seen) => void;
}

export interface Seen {
  readonly now: Instant;
  /** The runs, in the order of the parties. */
  readonly runs: readonly Run[];
  /** What was given out in this turn. */
  readonly given: readonly Stay[];
  /** Everything that is out. */
  readonly out: ReadonlySet<Stay>;
  /** Whether room is kept for a task. */
  readonly reserved: boolean;
}

/** One task on one worker. */
export interface Stay {
  readonly party: number;
  readonly task: number;
  readonly work: Work;
  readonly start: number;
  end: number;
}

const FOR_EVER = millis(2 ** 52);
const GATE = taskId("gate");

export async function contest(setup: Contest): Promise<readonly Stay[]> {
  const clock = new VirtualClock();
  const requests: Request[] = [];
  const lasting = new Map(
    setup.parties.map(({ tasks }, party) => [idOf(party), tasks.map(({ ms }) => millis(ms))] as const),
  );
  const engine = new Engine({
    store: {
      ...forgetfulStore(NO_HISTORY),
      requests: async () => requests.splice(0).map((request, no) => ({ ...request, no })),
    },
    epoch: 1,
    clock,
    secrets: { token: () => "", seed: () => 0, suffix: () => "" },
    executor: simulatedExecutor(clock, ({ run, task }) =>
      task === GATE ? millis(1) : (lasting.get(run)?.[Number(task)] as Millis),
    ),
    logOf: () => "",
    options: {
      workers: Array.from({ length: setup.workers }, (_, at) => workerId(`w/${at + 1}`)),
      capacity: setup.capacity ?? {},
      capabilities: [],
      leaseTtl: FOR_EVER,
      heartbeat: FOR_EVER,
      ...setup.options,
    },
  });
  await engine.open();
  const stays = follow(engine, setup);
  // All in one turn: no party has a head start.
  const runs = Promise.all(setup.parties.map((party, at) => engine.submit(manifestOf(party, at), specsOf(party))));
  const ended = runs.then((all) => Promise.all(all.map((run) => engine.idle(run))));
  if (setup.opensAt !== undefined) {
    clock.at(instant(setup.opensAt), () => {
      for (const [party, { tasks }] of setup.parties.entries()) {
        if (!tasks.some(({ later }) => later)) continue;
        requests.push({ kind: "approve", run: idOf(party), task: GATE, by: "bench", at: clock.now() });
      }
      void engine.takeRequests();
    });
  }
  const { until } = setup;
  if (until === undefined) await clock.passUntil(ended);
  else {
    clock.at(instant(until), () => {});
    await clock.run(() => clock.now() >= until);
  }
  await engine.close();
  for (const stay of stays) if (Number.isNaN(stay.end)) stay.end = clock.now();
  return stays;
}

function follow(engine: Engine, { parties, look }: Contest): readonly Stay[] {
  const stays: Stay[] = [];
  const open = new Map<string, Stay>();
  const out = new Set<Stay>();
  const partyOf = (run: Run): number => Number(run.manifest.id.slice("party-".length));
  engine.listen((events) => {
    const given: Stay[] = [];
    for (const event of events) {
      const run = engine.world.run(event.run) as Run;
      const key = "task" in event ? `${event.run}/${event.task}` : "";
      if (event.kind === "claimed") {
        const party = partyOf(run);
        const work = (parties[party] as Party).tasks[event.task];
        if (work === undefined) continue;
        const stay: Stay = { party, task: event.task, work, start: event.at, end: Number.NaN };
        stays.push(stay);
        given.push(stay);
        open.set(key, stay);
        out.add(stay);
      } else if (event.kind === "succeeded") {
        const stay = open.get(key);
        if (stay === undefined) continue;
        stay.end = event.at;
        open.delete(key);
        out.delete(stay);
      }
    }
    if (look === undefined) return;
    const runs = [...engine.world.runs.values()].sort((a, b) => partyOf(a) - partyOf(b));
    const now = (events.at(-1)?.at ?? 0) as Instant;
    look({ now, runs, given, out, reserved: engine.dispatcher.reservation.current(now) !== undefined });
  });
  return stays;
}

const idOf = (party: number): RunManifest["id"] => runId(`party-${party}`);

const manifestOf = ({ weight }: Party, party: number): RunManifest => ({
  id: idOf(party),
  name: `party-${party}`,
  submittedAt: instant(0),
  directory: "/",
  file: "",
  digest: "",
  seed: 0,
  resources: {},
  weight,
  carried: [],
});

/** The gate comes last, so that a task's number is its place among the party's own. */
function specsOf({ tasks }: Party): readonly TaskSpec[] {
  const specs = tasks.map(({ resources = {}, priority = "normal", later }, no): TaskSpec => {
    const needs = later ? [GATE] : [];
    return { ...SPEC_DEFAULTS, id: taskId(`${no}`), run: { argv: ["true"] }, resources, priority, needs };
  });
  if (!tasks.some(({ later }) => later)) return specs;
  return [...specs, { ...SPEC_DEFAULTS, id: GATE, run: { argv: ["true"] }, gate: "Go on?" }];
}
