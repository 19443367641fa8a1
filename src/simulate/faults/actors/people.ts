/** People who submit plans and step in, through the same network as all callers; when nothing fails any more, they clear up. */
import type { RunId, TaskId } from "../../../domain/ids.ts";
import { PRIORITIES, type TaskSpec } from "../../../domain/spec.ts";
import { later, type Millis, millis, seconds } from "../../../domain/time.ts";
import type { PauseScope } from "../../../domain/waiting/pause.ts";
import type { VirtualClock } from "../../clock.ts";
import { isEnded, type SeenRun, type SeenTask } from "../../history/seen.ts";
import type { InvariantMonitor } from "../invariant-monitor.ts";
import type { Chance } from "../seed/chance.ts";
import type { PlanDraft } from "../seed/plans.ts";
import type { Front } from "../world/front.ts";
import { Life } from "../world/life.ts";
import { type Network, Unreachable } from "../world/network.ts";
import type { SimulatedScheduler } from "../world/scheduler.ts";

export interface PeopleDeps {
  readonly clock: VirtualClock;
  readonly chance: Chance;
  readonly network: Network<SimulatedScheduler>;
  readonly front: Front;
  readonly monitor: InvariantMonitor;
  readonly pools: readonly string[];
  readonly violate: (law: string) => void;
}

/** Answers that people may get at any time. */
const EXPECTED: ReadonlySet<string> = new Set(["CANNOT_EDIT", "QUEUE_FULL", "RUN_UNKNOWN"]);
const ANSWER_TIMEOUT = seconds(15);

export class People {
  readonly #deps: PeopleDeps;
  readonly #life = new Life();
  #names = 0;
  /** How many plans have not been acknowledged yet. */
  #unsubmitted: number;

  constructor(deps: PeopleDeps, plans: readonly PlanDraft[]) {
    this.#deps = deps;
    this.#unsubmitted = plans.length;
    for (const plan of plans) void this.#submit(plan);
  }

  get haveSubmitted(): boolean {
    return this.#unsubmitted === 0;
  }

  /** One of the actions of a person. */
  meddle(): void {
    const { chance } = this.#deps;
    const run = this.#someRun();
    if (run === undefined) return;
    const task = chance.pick(run.tasks);
    switch (chance.pick(["hold", "hold", "letGo", "letGo", "cancel", "requeue", "approve", "edit", "drain", "end"])) {
      case "hold":
        return this.#hold(this.#scope(run, task));
      case "letGo":
        return this.#letGo();
      case "cancel":
        return this.#ask("cancel", run.manifest.id, task.spec.id);
      case "requeue":
        return this.#ask("requeue", run.manifest.id, task.spec.id);
      case "approve":
        return this.#ask("approve", run.manifest.id, task.spec.id);
      case "edit":
        return this.#edit(run.manifest.id, task.spec.id, this.#changes());
      case "drain":
        return this.#drain(this.#scope(run, task));
      default:
        // A whole run is cancelled seldom: nothing is left to look at then.
        if (chance.flip(0.2)) this.#ask("cancel", run.manifest.id, undefined);
    }
  }

  /** Resumes everything, opens every gate, and requeues what is parked. */
  clearUp(): void {
    const { monitor } = this.#deps;
    if (monitor.checker.pauses.size > 0) for (const { scope } of monitor.checker.pauses.values()) this.#release(scope);
    const waiting = new Set<SeenRun>();
    for (const task of monitor.checker.unfinished()) {
      const isClosed = task.spec.gate !== undefined && !task.approved;
      if (task.state === "parked" || isClosed) waiting.add(task.run);
    }
    for (const { manifest } of waiting) {
      this.#ask("approve", manifest.id, undefined);
      this.#ask("requeue", manifest.id, undefined);
    }
  }

  async #submit({ manifest, specs, after }: PlanDraft): Promise<void> {
    await this.#sleep(after);
    // The person wants to know that the plan was submitted: the same key, until there is an answer.
    for (;;) {
      const isDone = await this.#call("submit", (at) => this.#deps.front.submit(at, manifest.id, manifest, specs));
      if (isDone) break;
      await this.#sleep(seconds(2));
    }
    this.#unsubmitted--;
  }

  #someRun(): SeenRun | undefined {
    const runs = [...this.#deps.monitor.checker.runs.values()].filter(({ state }) => state !== "finished");
    return runs.length === 0 ? undefined : this.#deps.chance.pick(runs);
  }

  #scope(run: SeenRun, task: SeenTask): PauseScope {
    const { chance, pools } = this.#deps;
    switch (chance.pick(["scheduler", "pool", "run", "task", "task"])) {
      case "scheduler":
        return { of: "scheduler" };
      case "pool":
        return { of: "pool", pool: chance.pick(["local", ...pools]) };
      case "run":
        return { of: "run", run: run.no };
      default:
        return { of: "task", run: run.no, task: task.no };
    }
  }

  #changes(): Partial<TaskSpec> {
    const { chance } = this.#deps;
    return chance.flip(0.5) ? { priority: chance.pick(PRIORITIES) } : { estimate: chance.span(100, 60_000) };
  }

  #hold(scope: PauseScope): void {
    const by = this.#name();
    void this.#call("hold", (at) => this.#deps.front.hold(at, scope, by));
  }

  #letGo(): void {
    const pauses = [...this.#deps.monitor.checker.pauses.values()];
    if (pauses.length > 0) this.#release(this.#deps.chance.pick(pauses).scope);
  }

  #release(scope: PauseScope): void {
    const by = this.#name();
    void this.#call("let go", (at) => this.#deps.front.letGo(at, scope, by));
  }

  #drain(scope: PauseScope): void {
    const by = this.#name();
    const wait = this.#deps.chance.span(100, 8_000);
    void this.#call("drain", (at) => this.#deps.front.drain(at, scope, by, wait));
  }

  #ask(kind: "cancel" | "requeue" | "approve", run: RunId, task: TaskId | undefined): void {
    const by = this.#name();
    void this.#call(kind, (at) => this.#deps.front.ask(at, kind, run, task, by));
  }

  #edit(run: RunId, task: TaskId, changes: Partial<TaskSpec>): void {
    const by = this.#name();
    const found = this.#deps.monitor.run(run)?.byId.get(task);
    if (found === undefined || isEnded(found)) return;
    void this.#call("edit", (at) => this.#deps.front.edit(at, run, task, changes, by));
  }

  /** Whether an answer came. */
  async #call(what: string, handle: (at: SimulatedScheduler) => Promise<unknown>): Promise<boolean> {
    const { network, violate } = this.#deps;
    try {
      await network.call({ client: "people", life: this.#life, what, handle, answerTimeout: ANSWER_TIMEOUT });
      return true;
    } catch (error) {
      if (error instanceof Unreachable) return false;
      const code = (error as { readonly code?: string }).code ?? String(error);
      if (!EXPECTED.has(code)) violate(`people were answered ${code} to their ${what}: ${String(error)}`);
      return code !== "QUEUE_FULL";
    }
  }

  #name(): string {
    return `person ${++this.#names}`;
  }

  #sleep(span: Millis): Promise<void> {
    const { clock } = this.#deps;
    return new Promise((resolve) => void clock.at(later(clock.now(), millis(span)), resolve));
  }
}
