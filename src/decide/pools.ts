/**
 * Every pool has a dispatcher of its own: what one pool does says nothing about whose turn it is in another. Files, services and what
 * plans declare for themselves they share. This machine's own processes are the pool `local`; all others are pools of sessions.
 */
import type { History } from "../domain/history.ts";
import type { WorkerId } from "../domain/ids.ts";
import type { Pause } from "../domain/pause.ts";
import type { Run, RunNo } from "../domain/run.ts";
import type { Session } from "../domain/session.ts";
import { LOCAL_POOL, poolOf } from "../domain/spec.ts";
import type { Task } from "../domain/task.ts";
import { earliest, type Instant } from "../domain/time.ts";
import type { Change, World } from "../domain/world.ts";
import type { Notice } from "./behind.ts";
import { Commons } from "./commons.ts";
import { Dispatcher, type DispatcherOptions } from "./dispatcher.ts";
import type { Pressure } from "./pressure.ts";
import { Roster } from "./roster.ts";
import type { Holding } from "./site.ts";

export class Pools {
  readonly local: Dispatcher;
  readonly #world: Pick<World, "run" | "pauses">;
  readonly #options: DispatcherOptions;
  readonly #commons = new Commons();
  readonly #lines = new Map<string, Dispatcher>();
  readonly #poolOf = new Map<WorkerId, string>();

  constructor(options: DispatcherOptions, world: Pick<World, "run" | "pauses">) {
    this.#world = world;
    this.#options = options;
    this.local = new Dispatcher({ ...options, pool: LOCAL_POOL, commons: this.#commons });
    this.#lines.set(LOCAL_POOL, this.local);
  }

  /** The dispatcher of a pool; a pool is there as soon as anybody speaks of it. */
  line(pool: string): Dispatcher {
    const known = this.#lines.get(pool);
    if (known !== undefined) return known;
    const { patience, priorities } = this.#options;
    const line = new Dispatcher({
      pool,
      commons: this.#commons,
      roster: new Roster(),
      open: true,
      workers: [],
      capacity: {},
      capabilities: [],
      ...(patience && { patience }),
      ...(priorities && { priorities }),
    });
    this.#pause(line);
    this.#lines.set(pool, line);
    return line;
  }

  of({ spec }: Task): Dispatcher {
    return this.line(poolOf(spec));
  }

  /** The pools of sessions, by name. */
  *sessionPools(): Iterable<readonly [string, Dispatcher]> {
    for (const entry of this.#lines) if (entry[0] !== LOCAL_POOL) yield entry;
  }

  admit(run: Run, history: History): void {
    const named = new Set<string>();
    for (const { spec } of run.tasks) if (spec.pool !== undefined) named.add(spec.pool);
    this.#pause(this.local);
    for (const pool of [LOCAL_POOL, ...named]) {
      const line = this.line(pool);
      this.#pause(line);
      line.admit(run, history);
    }
  }

  dismiss(run: Run): void {
    for (const line of this.#lines.values()) if (line.knows(run)) line.dismiss(run);
  }

  knows(run: Run): boolean {
    return this.local.knows(run);
  }

  observe(change: Change): void {
    for (const line of this.#lines.values()) line.observe(change);
  }

  enrol(session: Session): void {
    const { id, pool, slots } = session.profile;
    this.dismissSession(id);
    const line = this.line(pool);
    line.roster?.enrol(session);
    line.enrol(id, slots);
    this.#poolOf.set(id, pool);
  }

  dismissSession(id: WorkerId): void {
    const pool = this.#poolOf.get(id);
    if (pool === undefined) return;
    this.#poolOf.delete(id);
    const line = this.line(pool);
    line.roster?.dismiss(id);
    line.dismissWorker(id);
  }

  /** What is on hold has changed. */
  review(now: Instant): void {
    for (const line of this.#lines.values()) {
      this.#pause(line);
      line.review(now);
    }
  }

  set pressure(pressure: Pressure) {
    for (const line of this.#lines.values()) line.pressure = pressure;
  }

  *age(now: Instant): Iterable<Notice> {
    for (const line of this.#lines.values()) yield* line.age(now);
  }

  *takeNotices(): Iterable<Notice> {
    for (const line of this.#lines.values()) yield* line.takeNotices();
  }

  *held(): Iterable<Holding> {
    for (const line of this.#lines.values()) yield* line.held();
  }

  /** How many are out. */
  get out(): number {
    let out = 0;
    for (const line of this.#lines.values()) out += line.out;
    return out;
  }

  nextWake(now: Instant): Instant | undefined {
    return earliest(...Array.from(this.#lines.values(), (line) => line.nextWake(now)));
  }

  canMove(run: Run): boolean {
    return [...this.#lines.values()].some((line) => line.knows(run) && line.canMove(run));
  }

  #pause(line: Dispatcher): void {
    const pauses: ReadonlyMap<string, Pause> = this.#world.pauses;
    line.ready.aside.pauses.set(pauses, (no: RunNo) => this.#world.run(no));
  }
}
