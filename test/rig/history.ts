/** Random histories: a random plan, and random things that happen to it, played on the real engine. */
import fc from "fast-check";
import type { Outcome } from "../../src/domain/outcome.ts";
import type { Run, RunManifest } from "../../src/domain/run.ts";
import { PRIORITIES, type TaskSpec } from "../../src/domain/spec.ts";
import { instant, millis, seconds } from "../../src/domain/time.ts";
import type { Store } from "../../src/store/store.ts";
import { exit, no, success, task } from "./builders.ts";
import { START } from "./clock.ts";
import type { Process } from "./machine.ts";
import { find, openRig, type Rig } from "./rig.ts";

/** What may happen next. `pick` chooses among whatever there is to choose from at that moment. */
export type Step =
  | { readonly kind: "starts" | "shows" | "obeys"; readonly pick: number }
  | { readonly kind: "ends"; readonly pick: number; readonly outcome: Outcome }
  | { readonly kind: "time"; readonly ms: number }
  | { readonly kind: "crash"; readonly lose: readonly boolean[]; readonly ms: number }
  | { readonly kind: "cancel" | "requeue" | "approve"; readonly pick: number }
  | { readonly kind: "cancel run" };

export interface Scenario {
  readonly specs: readonly TaskSpec[];
  readonly manifest: Partial<RunManifest>;
  readonly workers: number;
  readonly steps: readonly Step[];
}

/** What there is to share: scarce enough that tasks wait for each other. */
export const CAPACITY = { cpu: 2_000, gpu: 1 };
const NAMES = "abcdefghijklmnopqrst";

export const scenarios = (stepsMax = 60): fc.Arbitrary<Scenario> =>
  fc.record({
    specs: fc.array(looseTask, { minLength: 1, maxLength: 12, size: "max" }).map((loose) => loose.map(toSpec)),
    manifest: fc.record({
      seed: fc.integer(),
      resources: fc.constantFrom({}, { claude: 2 }),
      carried: fc.constantFrom([], [], [no(0)]),
      // The plan was read a moment before the scheduler took it.
      submittedAt: fc.constantFrom(START, instant(START - 3)),
    }),
    workers: fc.integer({ min: 1, max: 4 }),
    steps: fc.array(step, { maxLength: stepsMax, size: "max" }),
  });

const some = <T>(arbitrary: fc.Arbitrary<T>, maxLength: number) => fc.array(arbitrary, { maxLength });
const looseTask = fc.record({
  needs: some(fc.nat(), 3),
  after: some(fc.nat(), 1),
  onFailure: fc.constantFrom("skip", "skip", "continue"),
  priority: fc.constantFrom(...PRIORITIES),
  resources: fc.constantFrom({}, {}, { cpu: 1_000 }, { cpu: 1_500, claude: 1 }, { gpu: 1 }, { claude: 2 }),
  writes: fc.constantFrom([], [], ["src/"], ["src/a"], ["doc"]),
  reads: fc.constantFrom([], [], ["src/"], ["doc/x"]),
  attempts: fc.integer({ min: 1, max: 3 }),
  soft: fc.constantFrom(undefined, seconds(10)),
  hard: fc.constantFrom(seconds(20), seconds(3_600)),
  progress: fc.constantFrom(undefined, seconds(7)),
  gate: fc.oneof({ weight: 9, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: fc.constant("sure?") }),
  estimate: fc.constantFrom(undefined, seconds(1), seconds(60)),
});
type LooseTask = typeof looseTask extends fc.Arbitrary<infer T> ? T : never;

/** A task can only wait for those before it, so there is no circle. */
function toSpec(
  { needs, after, attempts, soft, hard, progress, gate, estimate, ...rest }: LooseTask,
  at: number,
): TaskSpec {
  const before = (picks: readonly number[]) => (at === 0 ? [] : picks.map((pick) => NAMES[pick % at] as string));
  return task(NAMES[at] as string, {
    ...rest,
    needs: before(needs),
    after: before(after),
    retry: { attempts },
    timeout: { hard, ...(soft !== undefined && { soft }) },
    ...(progress !== undefined && { progress }),
    ...(gate !== undefined && { gate }),
    ...(estimate !== undefined && { estimate }),
  });
}

const durationMs = millis(5);
const outcome: fc.Arbitrary<Outcome> = fc.oneof(
  { weight: 6, arbitrary: fc.constant(success) },
  { weight: 3, arbitrary: fc.constant(exit(1)) },
  {
    weight: 2,
    arbitrary: fc.constantFrom<Outcome>(
      { kind: "signal", signal: "SIGKILL", durationMs },
      { kind: "spawn", message: "no such file", durationMs },
      { kind: "rate-limit", resetMs: millis(3_000), durationMs },
      { kind: "lost", durationMs },
      { kind: "auth", durationMs },
      { kind: "verify", code: 1, durationMs },
      { kind: "shutdown", durationMs },
    ),
  },
);
const pick = fc.nat({ max: 1_000 });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 30, arbitrary: fc.record({ kind: fc.constantFrom("starts" as const), pick }) },
  { weight: 40, arbitrary: fc.record({ kind: fc.constant("ends" as const), pick, outcome }) },
  { weight: 10, arbitrary: fc.record({ kind: fc.constantFrom("shows" as const, "obeys" as const), pick }) },
  {
    weight: 25,
    arbitrary: fc.record({ kind: fc.constant("time" as const), ms: fc.constantFrom(0, 1, 20, 150, 5_000, 40_000) }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("crash" as const),
      lose: fc.array(fc.boolean(), { maxLength: 4 }),
      ms: fc.constantFrom(0, 100, 60_000),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constantFrom("cancel" as const, "requeue" as const, "requeue" as const, "approve" as const),
      pick,
    }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: "cancel run" as const }) },
);

export interface Played {
  readonly rig: Rig;
  /** The run as the last engine has it. */
  readonly run: Run;
}

/** Plays the scenario. `check` looks at the run after every step. */
export async function play(scenario: Scenario, store?: Store, check: (run: Run) => void = () => {}): Promise<Played> {
  const { specs, manifest, workers, steps } = scenario;
  const rig = await openRig({ workers, capacity: CAPACITY, ...(store && { store }) });
  let run = await rig.submit(specs, manifest);
  for (const each of steps) {
    if (each.kind === "crash") run = await crash(rig, run, each.lose, each.ms);
    else await happen(rig, run, each);
    check(run);
  }
  return { rig, run };
}

async function happen(rig: Rig, run: Run, step: Exclude<Step, { readonly kind: "crash" }>): Promise<void> {
  const { machine, clock } = rig;
  const chosen = <T>(from: readonly T[], which: number): T | undefined => from[which % Math.max(1, from.length)];
  const living = machine.processes.filter(({ alive }) => alive);
  switch (step.kind) {
    case "starts":
    case "shows":
      chosen(living, step.pick)?.[step.kind]();
      break;
    case "obeys":
      chosen(
        living.filter(({ stops }) => stops.length > 0),
        step.pick,
      )?.obeys();
      break;
    case "ends":
      chosen(living, step.pick)?.ends(step.outcome);
      break;
    case "time":
      await clock.advance(step.ms);
      break;
    case "cancel run":
      await rig.ask({ kind: "cancel", run: run.manifest.id });
      break;
    case "cancel":
    case "requeue":
    case "approve": {
      const id = chosen(run.tasks, step.pick)?.spec.id;
      if (id !== undefined) await rig.ask({ kind: step.kind, run: run.manifest.id, task: id });
      break;
    }
  }
  await clock.settle();
}

/** What ran may be gone without a trace, or have lived on. */
async function crash(rig: Rig, run: Run, lose: readonly boolean[], ms: number): Promise<Run> {
  rig.crash();
  const living = rig.machine.processes.filter(({ alive }) => alive);
  for (const [at, process] of living.entries()) if (lose[at] === true) rig.machine.lose(process);
  await rig.clock.advance(ms);
  return rig.resume(run.no);
}

/** Lets everything go well from here on: gates are opened, parked work is tried again, everything that runs succeeds. */
export async function bringToAnEnd({ rig, run }: Played): Promise<void> {
  for (let rounds = 0; rounds < 40 * run.tasks.length && run.status.state !== "finished"; rounds++) {
    for (const process of rig.machine.processes) if (process.alive) endWell(rig, run, process);
    await rig.clock.advance(5_000);
    if (run.status.state !== "stalled") continue;
    await rig.ask({ kind: "approve", run: run.manifest.id });
    await rig.ask({ kind: "requeue", run: run.manifest.id });
  }
}

function endWell(_: Rig, run: Run, process: Process): void {
  const { status } = find(run, process.attempt.task);
  if (status.state === "claimed") process.starts();
  if (process.stops.length > 0) process.obeys();
  else process.succeeds();
}
