/** Runs one plan within this program, to its end: tasks that are functions of the program are called, the others are commands. */

import { type Opened, openRun } from "../app/runs/submit.ts";
import { openScheduler, type Scheduler } from "../app/scheduler.ts";
import { UserError } from "../domain/errors.ts";
import type { Event } from "../domain/event.ts";
import type { Run } from "../domain/run.ts";
import { functionCapability, LOCAL_POOL, poolOf } from "../domain/spec.ts";
import { eventJson } from "../views/events/events.ts";
import type { EventReply } from "../wire/replies/event.ts";
import { type HostOptions, openHands, openHost, resultOf } from "./host.ts";
import { type Functions, type Known, type PlanSource, readSource } from "./plan.ts";
import type { RunResult } from "./result.ts";

/** How a plan is run within a program. */
export interface RunOptions extends HostOptions {
  /** The functions that tasks name under `call`. */
  readonly functions?: Functions;
  /** Goes on with the last run of this plan in the state directory; a run that had ended is not run again, and its result is given. */
  readonly resume?: boolean;
  /** Where a plan file is looked for, and where the tasks of a plan object are done. The current directory unless given. */
  readonly directory?: string;
  /** What runs is asked to end when it is aborted, and the run is `interrupted`. */
  readonly signal?: AbortSignal;
  /** Told of everything that happens to the run, once it is durable, as `rota events --json` prints it. What it throws ends the run. */
  readonly onEvent?: (event: EventReply) => void;
}

/** Runs the plan, and is kept when the run has ended or cannot go on by itself. That tasks fail is a result; what is wrong with the plan or the place is thrown. */
export async function run<const P extends PlanSource>(
  plan: P & Known<P>,
  options: RunOptions = {},
): Promise<RunResult<P>> {
  const { directory = process.cwd(), functions: given = {}, resume = false, signal } = options;
  signal?.throwIfAborted();
  const { loaded, functions } = await readSource(plan, { functions: given, directory });
  for (const spec of loaded.plan.tasks) if (poolOf(spec) !== LOCAL_POOL) throw forSessions(spec.id, poolOf(spec));
  using host = openHost(options);
  const { state, config, inMemory } = host;
  const executor = openHands(host, functions, () => scheduler);
  const capabilities = [...functions.keys()].map(functionCapability);
  const command = `run of ${loaded.file}`;
  const of = { state, config, executor, command, capabilities, inMemory, isGuest: true };
  await using scheduler = await openScheduler(of);
  const teller = new Teller(scheduler, options.onEvent);
  const opened = await openRun(scheduler, loaded, resume);
  teller.begin(opened.run);
  const isInterrupted = opened.how !== "finished" && (await takeToEnd(scheduler, opened, signal));
  teller.end();
  return resultOf(host, scheduler, opened.run, isInterrupted);
}

/** True when it was stopped before it had come to an end. */
async function takeToEnd({ engine }: Scheduler, { run }: Opened, signal: AbortSignal | undefined): Promise<boolean> {
  const stop = (): void => engine.stopAll();
  signal?.addEventListener("abort", stop);
  if (signal?.aborted === true) stop();
  try {
    await engine.takeRequests();
    await engine.idle(run);
  } finally {
    signal?.removeEventListener("abort", stop);
  }
  return run.status.state === "active";
}

/** Tells the program what happens to its run. Until the run is known, events are kept for later. */
class Teller {
  readonly #scheduler: Scheduler;
  readonly #tell: (event: EventReply) => void;
  readonly #stop: () => void;
  #run: Run | undefined;
  #kept: Event[] = [];
  #failure: { readonly error: unknown } | undefined;

  constructor(scheduler: Scheduler, tell: ((event: EventReply) => void) | undefined) {
    this.#scheduler = scheduler;
    this.#tell = tell ?? (() => {});
    this.#stop = tell === undefined ? () => {} : scheduler.engine.listen((events) => this.#hear(events));
  }

  begin(run: Run): void {
    this.#run = run;
    this.#hear(this.#kept);
    this.#kept = [];
  }

  /** Throws what the program threw. */
  end(): void {
    this.#stop();
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  #hear(events: readonly Event[]): void {
    const run = this.#run;
    if (run === undefined) return void this.#kept.push(...events);
    try {
      for (const event of events) {
        if (event.run === run.no && this.#failure === undefined) this.#tell(eventJson(event, run));
      }
    } catch (error) {
      this.#failure = { error };
      this.#scheduler.engine.stopAll();
    }
  }
}

const forSessions = (task: string, pool: string): UserError =>
  new UserError("USAGE", `Task ${task} is for the sessions of the pool ${pool}, which cannot come to a single run`, {
    hint: "Open a scheduler with `openScheduler`, and give it the plan.",
  });
