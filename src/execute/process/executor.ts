/** Runs attempts as processes of this machine, through small shells that outlive the scheduler. See README.md in src/execute. */
import { rmSync } from "node:fs";
import type { ProcessIdentity } from "../../domain/task.ts";
import type { Clock } from "../../effects/clock.ts";
import { bootId, isAlive } from "../../effects/host.ts";
import { systemSecrets } from "../../effects/random.ts";
import { invariant } from "../../std/invariant.ts";
import type { Attempt, Executor, Handle, Watch } from "../executor.ts";
import { LiveAttempt, type Surroundings } from "./attempt.ts";
import { attemptDirectory, prepareDirectory, stoppedBy, takeBegun } from "./directory.ts";
import { baseEnvironment, type Environment, taskEnvironment } from "./environment.ts";
import { explainFile, explainStart } from "./explain.ts";
import { endInherited, endUnsaid, whatBegan } from "./inherited.ts";
import { attemptKey, attemptMarks, namedBy, type Sighting, sight } from "./marks.ts";
import { PROCESS_DEFAULTS, type ProcessOptions } from "./options.ts";
import { argvOf, exportText, oddOf, orderText } from "./order.ts";
import { Register, type Slot } from "./register.ts";
import { Sampler } from "./sampler.ts";
import { Strays } from "./strays.ts";
import { startWatchdog, type Watchdog } from "./watchdog.ts";
import { Wrapper } from "./wrapper.ts";

export interface ProcessExecutorSetup {
  /** Where schedulers find what an earlier one left. One scheduler at a time. */
  readonly stateDir: string;
  readonly clock: Clock;
  /** The scheduler's own: the source of what tasks may see, and of their secrets. */
  readonly environment?: NodeJS.ProcessEnv;
  readonly options?: Partial<ProcessOptions>;
}

/** Returns at once, while the first shells start; what is asked meanwhile waits in their input. */
export function openProcessExecutor(setup: ProcessExecutorSetup): Executor {
  return new ProcessExecutor(setup);
}

/** Wrappers that are kept for attempts to come. */
const IDLE_MAX = 16;
class ProcessExecutor implements Executor {
  readonly #stateDir: string;
  readonly #environment: NodeJS.ProcessEnv;
  readonly #options: ProcessOptions;
  readonly #base: Environment;
  readonly #register: Register;
  readonly #around: Surroundings;
  readonly #watchdog: Watchdog;
  readonly #wrappers = new Set<Wrapper>();
  readonly #idle: Wrapper[] = [];
  readonly #live = new Set<LiveAttempt>();
  /** What earlier schedulers left, by the directory of the attempt; taken over at the first question. */
  #left: Map<string, Slot> | undefined;
  readonly #adopted = new Map<LiveAttempt, Slot>();
  #disposed: Promise<void> | undefined;

  constructor({ stateDir, clock, environment = process.env, options }: ProcessExecutorSetup) {
    const secrets = systemSecrets();
    this.#stateDir = stateDir;
    this.#environment = environment;
    this.#options = { ...PROCESS_DEFAULTS, ...options };
    this.#register = new Register(stateDir, `${process.pid}-${secrets.suffix()}`, secrets.token());
    const { stateId, home } = this.#register;
    this.#base = { ...baseEnvironment(environment, this.#options.passEnv), ROTA_STATE_ID: stateId };
    this.#around = {
      clock,
      options: this.#options,
      sampler: new Sampler(clock),
      strays: new Strays(stateId, clock, this.#options.leftoverGrace),
      ended: (attempt) => this.#ended(attempt),
    };
    this.#watchdog = startWatchdog(home, `ROTA_STATE_ID=${stateId}`, this.#options);
    this.#idle.push(this.#launch());
  }

  start(attempt: Attempt, watch: Watch): Handle {
    const wanted = taskEnvironment(attempt.env, this.#environment);
    const live = this.#enter(attempt, wanted.ok ? wanted.value.secrets : [], watch);
    if (this.#disposed !== undefined) live.refuse();
    else if (wanted.ok) this.#begin(live, attempt, wanted.value.env);
    else live.failed({ kind: "spawn", message: wanted.error });
    return live;
  }

  async adopt(attempt: Attempt, process: ProcessIdentity | undefined, watch: Watch): Promise<Handle | undefined> {
    const left = this.#takeOver();
    const directory = attemptDirectory(this.#stateDir, attempt);
    const slot = left.get(directory);
    const begun = await whatBegan(directory, slot, process, this.#around.clock);
    if (begun.kind === "void") return undefined;
    const wanted = taskEnvironment(attempt.env, this.#environment);
    const live = this.#enter(attempt, wanted.ok ? wanted.value.secrets : [], watch);
    left.delete(directory);
    if (slot !== undefined) this.#adopted.set(live, slot);
    if (begun.kind === "unsaid") void live.lose("it was killed before it could begin");
    else if (begun.process.bootId !== bootId()) void live.lose("the machine was started anew");
    else live.follow(begun.process, begun.atMs, slot, stoppedBy(directory));
    return live;
  }

  async sweep(): Promise<number> {
    const left = this.#takeOver();
    const groups: number[] = [];
    const swept = new Set<string>();
    for (const [directory, slot] of left) {
      const begun = takeBegun(directory);
      if (begun.kind === "unsaid") endUnsaid(slot);
      if (begun.kind === "begun" && isAlive(begun.process)) {
        groups.push(begun.process.pid);
        swept.add(directory);
      }
      rmSync(slot.file, { force: true });
    }
    left.clear();
    for (const key of this.#straysOf().keys()) swept.add(attemptDirectory(this.#stateDir, namedBy(key)));
    if (swept.size > 0)
      await endInherited(groups, () => this.#straysOf().values(), this.#around.clock, this.#options.grace);
    return swept.size;
  }

  leave(): void {
    if (this.#disposed !== undefined) return;
    this.#disposed = Promise.resolve();
    for (const live of this.#live) live.forsake();
    for (const wrapper of this.#wrappers) wrapper.forsake();
    this.#watchdog.forsake();
    this.#around.sampler.stop();
    this.#around.strays.stop();
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#disposed ??= this.#dispose();
    return this.#disposed;
  }

  async #dispose(): Promise<void> {
    const running = [...this.#live];
    for (const live of running) live.stop({ kind: "shutdown" }, this.#options.grace);
    await Promise.all(running.map((live) => live.outcome));
    await this.#around.strays.sweep();
    this.#around.sampler.stop();
    for (const wrapper of this.#wrappers) wrapper.end();
    await Promise.all([...this.#wrappers].map((wrapper) => wrapper.closed));
    // What was taken over and neither adopted nor swept is left to the next scheduler, or to the watchdog.
    if (this.#left !== undefined && this.#left.size > 0) return this.#watchdog.forsake();
    this.#watchdog.dismiss();
    this.#register.forget();
  }

  #enter(attempt: Attempt, secrets: readonly string[], watch: Watch): LiveAttempt {
    const { where, log, memoryLimit } = attempt;
    const facts = {
      key: attemptKey(attempt),
      directory: attemptDirectory(this.#stateDir, attempt),
      cwd: where.directory,
      log,
      memoryLimit,
      secrets,
    };
    const live = new LiveAttempt(facts, watch, this.#around);
    this.#live.add(live);
    return live;
  }

  #begin(live: LiveAttempt, { work: command, log, priority }: Attempt, own: Environment): void {
    invariant("shell" in command || "argv" in command, `${live.key} is a command`);
    const env = { ...own, ...attemptMarks(live.key, this.#register.stateId) };
    const { directory, cwd } = live.facts;
    const failure = explainStart(argvOf(command), cwd, { ...this.#base, ...env });
    if (failure !== undefined) return live.failed(failure);
    try {
      prepareDirectory(directory, log);
    } catch (error) {
      return live.failed(explainFile("the log", log, (error as NodeJS.ErrnoException).code ?? "unknown"));
    }
    const order = { directory, log, command, cwd, env, nice: this.#options.nice[priority] };
    this.#run(orderText(order, oddOf(this.#base)), live);
  }

  #run(order: string, live: LiveAttempt): void {
    const wrapper = this.#idle.pop() ?? this.#launch();
    /** It can run the next one, although of this one something may be left that has to be ended. */
    const free = (): void => {
      if (this.#disposed === undefined && this.#idle.length < IDLE_MAX) this.#idle.push(wrapper);
      else wrapper.end();
    };
    wrapper.run(order, {
      up: (process) => live.up(process),
      bad(step, words) {
        free();
        live.bad(step, words);
      },
      down(status, cpuMs) {
        free();
        live.down(status, cpuMs);
      },
      died: (words) => live.died(words),
    });
  }

  #launch(): Wrapper {
    const wrapper = new Wrapper(this.#register.nextSlot(), exportText(this.#base));
    this.#wrappers.add(wrapper);
    void wrapper.closed.then(() => {
      this.#wrappers.delete(wrapper);
      const at = this.#idle.indexOf(wrapper);
      if (at !== -1) this.#idle.splice(at, 1);
    });
    return wrapper;
  }

  #ended(live: LiveAttempt): void {
    this.#live.delete(live);
    const slot = this.#adopted.get(live);
    if (slot !== undefined) rmSync(slot.file, { force: true });
  }

  #takeOver(): Map<string, Slot> {
    this.#left ??= new Map(this.#register.takeOver().map((slot) => [slot.directory, slot]));
    return this.#left;
  }

  /** Processes that carry our mark and belong to no attempt of this executor. */
  #straysOf(): Sighting {
    if (this.#register.isNew) return new Map();
    const own = new Set([...this.#live].map(({ key }) => key));
    return new Map([...sight(this.#register.stateId)].filter(([key]) => !own.has(key)));
  }
}
