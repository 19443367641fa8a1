/** The whole simulated world of one seed: schedulers, sessions and people, the faults, when they stop, and whether everything ends after that. */
import { findTask } from "../../../domain/run.ts";
import { type Instant, instant, later, type Millis, millis, seconds } from "../../../domain/time.ts";
import type { Attempt } from "../../../execute/executor.ts";
import { InvariantError } from "../../../std/invariant.ts";
import type { Owner } from "../../../store/store.ts";
import { VirtualClock } from "../../clock.ts";
import { Drive } from "../../drive/drive.ts";
import { type FateOf, fateOf } from "../actors/fate.ts";
import { People } from "../actors/people.ts";
import { InvariantMonitor } from "../invariant-monitor.ts";
import { Chance } from "../seed/chance.ts";
import type { Scenario } from "../seed/scenario.ts";
import { Agents } from "./agents.ts";
import { Disk } from "./disk.ts";
import { Front } from "./front.ts";
import { Machine } from "./machine.ts";
import { DiskError, type Medium, MemoryMedium } from "./medium.ts";
import { Network } from "./network.ts";
import { SimulatedScheduler } from "./scheduler.ts";
import { Trace } from "./trace.ts";

/** Not the beginning of time, so that nothing is special about it. */
const START = instant(1_700_000_000_000);
/** For this long after a start, sessions may be given a whole span again. */
const FORGIVING = seconds(60);

export class Arena {
  readonly scenario: Scenario;
  readonly clock = new VirtualClock(START);
  readonly chance: Chance;
  readonly trace: Trace;
  readonly monitor: InvariantMonitor;
  readonly medium: Medium;
  readonly disk: Disk;
  readonly machine: Machine;
  readonly network: Network<SimulatedScheduler>;
  readonly front: Front;
  readonly people: People;
  readonly agents: Agents;
  schedulers: SimulatedScheduler[] = [];
  /** From here on nothing fails any more. */
  isWell = false;
  /** The power went, and answered commits may be lost: the seed ends here. */
  isOver = false;
  /** How far clocks were ever set, in either direction: what one clock postponed may come that much later by another. */
  setOff = 0;
  readonly #fateOf: FateOf;
  #boots = 0;

  constructor(scenario: Scenario, keepsTrace: boolean) {
    const { clock } = this;
    this.scenario = scenario;
    this.chance = new Chance(scenario.seed).fork("events");
    this.trace = new Trace(clock, keepsTrace);
    const trace = (line: string): void => this.trace.add(line);
    const violate = (law: string): void => this.monitor.violate(law);
    const { faults } = scenario;
    this.monitor = new InvariantMonitor({ trace, forgives: (epoch) => this.#forgives(epoch), now: () => clock.now() });
    this.#fateOf = fateOf(new Chance(scenario.seed).fork("fates"), faults, () => this.isWell);
    this.medium = this.#mediumOf(scenario);
    this.disk = new Disk({
      clock,
      chance: this.chance.fork("disk"),
      faults,
      medium: this.medium,
      trace,
      written: (batch) => this.monitor.written(batch),
      slow: (by) => this.#disturbed(by),
    });
    this.machine = new Machine({
      clock,
      fateOf: this.#fateOf,
      trace,
      violate,
      begun: (attempt, isStray) => this.monitor.begun(attempt, isStray),
      succeeded: (attempt) => this.#succeeded(attempt),
      least: (attempt, limit) => this.#least(attempt, limit),
    });
    this.network = new Network({
      clock,
      chance: this.chance.fork("network"),
      faults,
      trace,
      server: () => this.#server(),
    });
    this.front = new Front(this.monitor);
    const pools = Object.keys(scenario.modes);
    const { network, front, monitor } = this;
    const person = { clock, chance: this.chance.fork("people"), network, front, monitor, pools, violate };
    this.people = new People(person, scenario.plans);
    const { chance } = this;
    const isWell = (): boolean => this.isWell;
    this.agents = new Agents({ clock, chance, network, front, fateOf: this.#fateOf, violate, scenario, isWell });
    for (const draft of scenario.sessions) this.agents.enlist(draft);
  }

  get elapsed(): Millis {
    return millis(this.clock.now() - START);
  }

  after(span: Millis, then: () => void): void {
    this.clock.at(later(this.clock.now(), span), then);
  }

  /** The scheduler in office, as far as the arena knows. */
  get current(): SimulatedScheduler | undefined {
    return this.schedulers.findLast(({ life, isReady }) => life.isAlive && isReady);
  }

  /** Another scheduler starts. `usurps`: it does not see that the current one lives. */
  async boot(usurps = false): Promise<void> {
    const { clock, disk, machine, scenario, agents } = this;
    const no = ++this.#boots;
    const chance = this.chance.fork(`scheduler ${no}`);
    const { drift = 0, back } = scenario.faults;
    const isSetBack = back !== undefined && !this.isWell && no > 1 && chance.flip(0.5);
    const offset = isSetBack ? 0 - chance.span(1, 1_800_000 * back) : 0;
    this.setOff -= offset;
    const scheduler = new SimulatedScheduler({
      no,
      clock,
      chance,
      scenario,
      disk,
      machine,
      offset,
      rate: this.isWell ? 1 : 1 + (chance.next() - 0.5) * drift,
      lives: (owner) => !usurps && this.#lives(owner),
      failed: (of, error) => this.#failed(of, error),
      wake: (target) => agents.wake(target.session),
      reaches: (session) => agents.reaches(session),
      spawn: async ({ task }) => agents.spawn(task.spec),
    });
    this.schedulers = [...this.schedulers.filter(({ life }) => life.isAlive), scheduler];
    this.trace.add(`${scheduler.name} boots${offset === 0 ? "" : `, set back by ${-offset} ms`}`);
    // A crash may be followed by another one, when the next scheduler has only begun to take up the runs.
    this.#killSoon(scheduler, chance.fork("short"), 0.3, 12);
    try {
      if (await scheduler.boot()) return;
      this.kill(scheduler, "the store is in use");
    } catch (error) {
      this.#failed(scheduler, error);
    }
  }

  /** The worst moments for a crash are those just before much is written. */
  #succeeded(attempt: Attempt): void {
    this.monitor.succeeded(attempt);
    const { current } = this;
    const chance = this.chance.fork(`end ${attempt.run} ${attempt.task} ${attempt.fence}`);
    if (current !== undefined) this.#killSoon(current, chance, 0.04, 6);
  }

  /** The error of a clock has a limit; setting the clock does not count here. */
  #least({ run: id, task }: Attempt, limit: "soft" | "hard"): Millis {
    const run = this.current?.engine.world.findRun(id);
    const limits = run && findTask(run, task)?.spec.timeout;
    const { drift = 0 } = this.scenario.faults;
    return millis(Math.floor((limits?.[limit] ?? 0) / (1 + drift / 2)) - 1);
  }

  #killSoon(scheduler: SimulatedScheduler, chance: Chance, odds: number, within: number): void {
    const { crash = 0 } = this.scenario.faults;
    if (this.isWell || !chance.flip(crash * odds)) return;
    this.after(millis(chance.whole(0, within)), () => {
      if (!this.isWell) this.kill(scheduler, "it was killed at a bad moment");
    });
  }

  kill(scheduler: SimulatedScheduler, why: string): void {
    if (!scheduler.life.isAlive) return;
    this.trace.add(`${scheduler.name} ends: ${why}`);
    scheduler.kill();
    this.disk.ended(scheduler.life);
  }

  /** All processes of this machine end; sessions elsewhere go on. */
  cutPower(): void {
    this.trace.add("the power goes");
    for (const scheduler of this.schedulers) scheduler.kill();
    this.disk.cut();
    this.machine.restart();
    this.monitor.restarted();
    this.isOver = this.medium.mayForget;
  }

  #mediumOf({ store, faults }: Scenario): Medium {
    if (store === "memory") return new MemoryMedium();
    const chance = this.chance.fork("drive");
    return new Drive({
      clock: this.clock,
      chance,
      violate: (law) => this.monitor.violate(law),
      failsToSync: () => !this.isWell && faults.fsync !== undefined && chance.flip(faults.fsync * 0.05),
    });
  }

  #lives({ process }: Owner): boolean {
    return this.schedulers.some(({ name, life }) => life.isAlive && name === `scheduler ${process.pid}`);
  }

  /** Calls reach the scheduler that opened last; sometimes an older scheduler that does not know yet that it was replaced. */
  #server(): SimulatedScheduler | undefined {
    const ready = this.schedulers.filter(({ life, isReady }) => life.isAlive && isReady);
    return !this.isWell && ready.length > 1 && this.chance.flip(0.3) ? ready[0] : ready.at(-1);
  }

  #failed(scheduler: SimulatedScheduler, error: unknown): void {
    const isOurs = error instanceof DiskError || (error as { readonly code?: string }).code === "STATE_BUSY";
    if (!isOurs) {
      const kind = error instanceof InvariantError ? "an invariant was broken" : "it failed";
      const told = error instanceof Error ? (error.stack ?? error.message) : String(error);
      this.monitor.violate(`${scheduler.name}: ${kind}: ${told}`);
    }
    this.kill(scheduler, String(error));
  }

  /** A write that takes so long that the next turn may find every session overdue. */
  #disturbed(by: Millis): void {
    if (by > 4_000) for (const scheduler of this.schedulers) scheduler.slept();
  }

  #forgives(epoch: number): boolean {
    const scheduler = this.schedulers.find((each) => each.epoch === epoch);
    if (scheduler === undefined) return true;
    const since: Instant = scheduler.sleptAt;
    return scheduler.clock.now() < later(since, FORGIVING);
  }
}
