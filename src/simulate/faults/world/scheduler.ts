/** One scheduler process: the real engine and the real cycle around simulated parts, wired as the daemon wires them. */
import type { Run } from "../../../domain/run.ts";
import { type Instant, instant, seconds } from "../../../domain/time.ts";
import type { Secrets } from "../../../effects/random.ts";
import { Engine } from "../../../engine/engine.ts";
import { isCause, type Pending, type WakeTarget } from "../../../engine/wake/wake-port.ts";
import type { WakeScheduler } from "../../../engine/wake/wake-scheduler.ts";
import type { Owner, Store } from "../../../store/store.ts";
import type { VirtualClock } from "../../clock.ts";
import type { Chance } from "../seed/chance.ts";
import { CAPACITY } from "../seed/plans.ts";
import type { Scenario } from "../seed/scenario.ts";
import type { Disk } from "./disk.ts";
import { Life, OwnClock } from "./life.ts";
import type { Machine } from "./machine.ts";

export interface SchedulerDeps {
  readonly no: number;
  readonly clock: VirtualClock;
  readonly offset: number;
  readonly rate: number;
  readonly chance: Chance;
  readonly scenario: Scenario;
  readonly disk: Disk;
  readonly machine: Machine;
  /** Whether the owner on record counts as alive. */
  readonly lives: (owner: Owner) => boolean;
  /** The scheduler cannot go on, and ends. */
  readonly failed: (scheduler: SimulatedScheduler, error: unknown) => void;
  readonly wake: (target: WakeTarget) => Error | undefined;
  readonly reaches: (session: string) => boolean;
  readonly spawn: (pending: Pending) => Promise<boolean>;
}

export class SimulatedScheduler {
  readonly name: string;
  readonly life = new Life();
  readonly clock: OwnClock;
  readonly store: Store;
  readonly #deps: SchedulerDeps;
  engine!: Engine;
  cycle!: WakeScheduler;
  epoch = 0;
  /** It has taken up all runs, and answers calls. */
  isReady = false;
  /** When it last may have missed signs of life. */
  sleptAt: Instant = instant(0);
  /** Submits in progress, by their key. */
  readonly submits = new Map<string, Promise<Run>>();

  constructor(deps: SchedulerDeps) {
    this.#deps = deps;
    this.name = `scheduler ${deps.no}`;
    const { offset, rate } = deps;
    this.clock = new OwnClock(deps.clock, this.life, { offset, rate });
    this.store = deps.disk.open({ life: this.life, clock: this.clock, lives: deps.lives });
  }

  /** Takes the store over, with all runs in it. False when another scheduler has it. */
  async boot(): Promise<boolean> {
    const { machine, disk, failed, no, chance } = this.#deps;
    const owner: Owner = {
      process: { pid: no, startTime: "0", bootId: "boot" },
      host: "host",
      command: this.name,
      since: this.clock.now(),
      workers: this.#deps.scenario.workers.length,
      capacity: CAPACITY,
    };
    const acquired = await this.store.acquire(owner);
    if (!acquired.ok) return false;
    this.epoch = acquired.value.epoch;
    const executor = machine.open(this.life, () => this.epoch === disk.epoch);
    this.engine = new Engine({
      store: this.store,
      epoch: this.epoch,
      clock: this.clock,
      secrets: secretsOf(chance),
      executor,
      logOf: () => "",
      options: this.#options(),
    });
    this.engine.failed.catch((error: unknown) => this.life.enter(() => failed(this, error)));
    await this.engine.open();
    this.cycle = this.#cycle();
    const unfinished = await this.store.runs("unfinished");
    await this.engine.resumeAll(unfinished.map((run) => run.no));
    await executor.sweep();
    await this.engine.takeRequests();
    this.cycle.start();
    this.isReady = true;
    return true;
  }

  /** Its clock is set forward: sessions that could not be heard meanwhile are given a new span. */
  slept(): void {
    this.sleptAt = this.clock.now();
  }

  kill(): void {
    this.life.end();
    this.isReady = false;
  }

  #options() {
    const { workers, modes, settings } = this.#deps.scenario;
    const { leaseTtl, heartbeat, ack, grace, policy, isPressed, batchMax } = settings;
    return {
      workers,
      capacity: CAPACITY,
      capabilities: [],
      leaseTtl,
      heartbeat,
      ack,
      grace,
      policy,
      batchMax,
      modes,
      forgets: true,
      patience: { dispatches: 4, wait: seconds(20) },
      ...(isPressed && { pressure: { depth: 60, thresholds: [0.1, 0.2, 0.3] } as const }),
    };
  }

  #cycle(): WakeScheduler {
    const { engine } = this;
    const { wake, reaches, spawn, scenario } = this.#deps;
    const { offer, cooldown, starvingAge } = scenario.settings;
    const cycle = engine.cycle({
      waker: { wake: async (targets) => targets.map(wake) },
      spawn,
      reaches: ({ profile }) => reaches(profile.id),
      options: { offer, cooldown, starvingAge },
    });
    engine.listen((events) => {
      if (events.some(isCause) && engine.world.sessions.size > 0 && engine.pools.hasForSessions) cycle.nudge();
    });
    return cycle;
  }
}

/** Secrets that follow from the seed. */
function secretsOf(chance: Chance): Secrets {
  let count = 0;
  const mark = chance.whole(0, 2 ** 30);
  return { token: () => `${mark}.${++count}`, seed: () => mark, suffix: () => String(++count) };
}
