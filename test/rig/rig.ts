/** A scheduler on a manual clock, a store and a machine that the test controls; it can crash and come back. */
import type { Event } from "../../src/domain/event.ts";
import { workerId } from "../../src/domain/ids.ts";
import { findTask, type Run, type RunManifest, type RunNo } from "../../src/domain/run.ts";
import type { TaskSpec } from "../../src/domain/spec.ts";
import type { Task, TaskState } from "../../src/domain/task.ts";
import type { Secrets } from "../../src/effects/random.ts";
import { Engine } from "../../src/engine/engine.ts";
import type { EngineOptions } from "../../src/engine/options.ts";
import { openMemoryStore } from "../../src/store/memory/store.ts";
import type { Request, Store } from "../../src/store/store.ts";
import { manifest, owner } from "./builders.ts";
import { ManualClock } from "./clock.ts";
import { Machine } from "./machine.ts";

export interface RigOptions extends Partial<Omit<EngineOptions, "workers">> {
  readonly workers?: number;
  readonly store?: Store;
  /** The same every time when absent. */
  readonly secrets?: Secrets;
  /** Of the scheduler: this one, when absent. */
  readonly host?: string;
}

export class Rig {
  readonly clock = new ManualClock();
  readonly machine = new Machine();
  readonly store: Store;
  engine!: Engine;
  /** What the engine told its listeners, in order. */
  readonly told: Event[] = [];
  #options: EngineOptions;
  readonly #secrets: Secrets | undefined;
  readonly #host: string | undefined;
  #epochs = 0;

  constructor({ store = openMemoryStore(), workers = 2, secrets, host, ...options }: RigOptions) {
    this.store = store;
    this.#secrets = secrets;
    this.#host = host;
    this.#options = { capacity: {}, capabilities: [], ...options, workers: slots(workers) };
  }

  /** A new scheduler takes the store over, whatever the old one is doing. */
  async boot(options: RigOptions = {}): Promise<Engine> {
    const { workers, ...rest } = options;
    const self = owner(`boot ${++this.#epochs}`);
    this.#options = { ...this.#options, ...rest, ...(workers !== undefined && { workers: slots(workers) }) };
    const acquired = await this.store.acquire({ ...self, host: this.#host ?? self.host });
    if (!acquired.ok) throw new Error("the store has an owner that lives");
    this.engine = new Engine({
      store: this.store,
      epoch: acquired.value.epoch,
      clock: this.clock,
      secrets: this.#secrets ?? countedSecrets(this.#epochs),
      executor: this.machine.executor(),
      logOf: () => "/log",
      options: this.#options,
    });
    this.engine.listen((events) => this.told.push(...events));
    await this.engine.open();
    return this.engine;
  }

  /** Submits, and lets the first turns happen. */
  async submit(specs: readonly TaskSpec[], rest: Partial<RunManifest> = {}): Promise<Run> {
    return this.promised(this.engine.submit(manifest({ submittedAt: this.clock.now(), ...rest }), specs));
  }

  /** The scheduler is gone between two turns; what it started goes on. */
  crash(): void {
    void this.engine.close();
    this.machine.orphanAll();
  }

  /** A new scheduler goes on with the run. */
  async resume(no: RunNo, options: RigOptions = {}): Promise<Run> {
    await this.boot(options);
    return this.promised(this.engine.resume(no));
  }

  /** Leaves a request and has the engine take it. */
  async ask(request: Omit<Request, "at" | "by"> & { readonly by?: string }): Promise<void> {
    await this.store.request({ by: "mo", at: this.clock.now(), ...request });
    await this.promised(this.engine.takeRequests());
  }

  /** Lets things happen until nothing is left to do now, and gives what the promise was kept with. */
  async promised<T>(promise: Promise<T>): Promise<T> {
    const [result] = await Promise.all([promise, this.clock.settle()]);
    await this.clock.settle();
    return result;
  }

  async kinds(): Promise<readonly string[]> {
    return (await this.store.events({})).map(({ kind }) => kind);
  }
  async eventsOf(run: Run, id: string): Promise<readonly Event[]> {
    return this.store.events({ run: run.no, task: find(run, id).no });
  }
}

export async function openRig(options: RigOptions = {}): Promise<Rig> {
  const rig = new Rig(options);
  await rig.boot();
  return rig;
}

export function find(run: Run, id: string): Task {
  const found = findTask(run, id as TaskSpec["id"]);
  if (found === undefined) throw new Error(`there is no task ${id}`);
  return found;
}

/** `{ a: "ready", b: "blocked" }`. */
export const statesOf = (run: Run): Record<string, TaskState> =>
  Object.fromEntries(run.tasks.map(({ spec, status }) => [spec.id, status.state]));

const slots = (count: number) => Array.from({ length: count }, (_, index) => workerId(`w${index + 1}`));

/** Secrets that are the same every time, and different after every boot. */
function countedSecrets(boot: number): Secrets {
  let count = 0;
  return { token: () => `token ${boot}.${++count}`, seed: () => 7, suffix: () => "abc123" };
}
