/**
 * Every pool has a dispatcher of its own: what one pool does says nothing about whose turn it is in another. Pools share files, services and
 * the resources that plans declare. This machine's own processes are the pool `local`; all others are pools of sessions.
 */
import type { History } from "../domain/durations/history.ts";
import type { WorkerId } from "../domain/ids.ts";
import type { Run, RunNo } from "../domain/run.ts";
import type { Session } from "../domain/sessions/session.ts";
import { LOCAL_POOL, poolOf } from "../domain/spec.ts";
import { isHeld, isTerminal, type Status, type Task } from "../domain/task.ts";
import { earliest, type Instant } from "../domain/time.ts";
import type { Change, World } from "../domain/world.ts";
import { Dispatcher } from "./dispatcher.ts";
import type { DispatcherOptions } from "./dispatcher-parts.ts";
import { Waits } from "./explain/waits.ts";
import type { Notice } from "./queue/behind.ts";
import { type Pressure, queuedIn } from "./queue/pressure.ts";
import { SharedResources } from "./room/shared-resources.ts";
import type { Occupancy } from "./room/site.ts";
import { Roster } from "./roster.ts";

export class Pools {
  readonly local: Dispatcher;
  readonly #world: Pick<World, "run" | "runs" | "pauses">;
  readonly #options: DispatcherOptions;
  readonly #shared = new SharedResources();
  /** Of every pool that has a session or a task. */
  readonly #lines = new Map<string, Dispatcher>();
  /** The pools of each run. */
  readonly #linesOf = new Map<RunNo, ReadonlyMap<string, Dispatcher>>();
  readonly #poolOf = new Map<WorkerId, string>();
  readonly #waits: Waits;
  #queued = 0;

  constructor(options: DispatcherOptions, world: Pick<World, "run" | "runs" | "pauses">) {
    this.#world = world;
    this.#options = options;
    this.local = new Dispatcher({ ...options, pool: LOCAL_POOL, shared: this.#shared });
    this.#lines.set(LOCAL_POOL, this.local);
    this.#waits = new Waits({
      of: (task) => this.of(task),
      linesOf: ({ no }) => this.#linesOf.get(no)?.values() ?? [],
    });
    this.#shared.waits = this.#waits;
  }

  /** The dispatcher of a pool. The pool need not have been named before. */
  line(pool: string): Dispatcher {
    return this.#lines.get(pool) ?? this.#newLine(pool);
  }

  of({ spec }: Task): Dispatcher {
    return this.line(poolOf(spec));
  }

  /** Whether a task is ready that only a session can do. */
  get hasForSessions(): boolean {
    for (const [, line] of this.sessionPools()) if (line.ready.size > 0) return true;
    return false;
  }

  /** The pools of sessions, by name. */
  *sessionPools(): Iterable<readonly [string, Dispatcher]> {
    for (const entry of this.#lines) if (entry[1].roster !== undefined) yield entry;
  }

  admit(run: Run, history: History, now?: Instant): void {
    const named = new Set<string>();
    for (const { spec } of run.tasks) named.add(poolOf(spec));
    this.#shared.pauses.set(this.#world.pauses, (no) => this.#world.run(no));
    const lines = new Map<string, Dispatcher>();
    for (const pool of named) lines.set(pool, this.#open(pool));
    this.#linesOf.set(run.no, lines);
    for (const task of run.tasks) this.#shared.keys.follow(run, task);
    for (const line of lines.values()) line.admit(run, history, now);
    this.#queued += queuedIn([run]);
    this.#waits.look(run);
  }

  dismiss(run: Run): void {
    const lines = this.#linesOf.get(run.no) ?? [];
    this.#linesOf.delete(run.no);
    this.#waits.forget(run);
    for (const [pool, line] of lines) {
      line.dismiss(run);
      this.#closeIfIdle(pool, line);
    }
  }

  knows(run: Run): boolean {
    return this.#linesOf.has(run.no);
  }

  observe(change: Change): void {
    const { run, task, from, to, cause } = change;
    if (this.knows(run)) {
      this.#queued += Number(isQueued(to)) - Number(isQueued(from));
      this.#waits.look(run);
    }
    const pool = poolOf(task.spec);
    this.#lines.get(pool)?.observe(change);
    if (this.#shared.keys.follow(run, task)) this.#wakeBehind(task, cause.at);
    const { reads, writes } = task.spec;
    if (reads.length + writes.length === 0 || !isHeld(from) || isHeld(to)) return;
    // In any other pool a task may wait for the files.
    for (const [name, line] of this.#lines) if (name !== pool) line.ready.wakeBehind(task, cause.at);
  }

  #wakeBehind(holder: Task, now: Instant): void {
    for (const line of this.#lines.values()) line.ready.wakeBehind(holder, now);
  }

  /** How many tasks wait, over all runs. */
  get queued(): number {
    return this.#queued;
  }

  enrol(session: Session): void {
    const { id, pool, slots } = session.profile;
    this.dismissSession(id);
    const line = this.#open(pool);
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
    this.#closeIfIdle(pool, line);
  }

  /** What is on hold has changed. Gives the runs that may be affected. */
  review(now: Instant): Iterable<Run> {
    const { runs } = this.#world;
    const changed = this.#shared.pauses.set(this.#world.pauses, (no) => runs.get(no));
    if (changed.some((scope) => !("run" in scope))) {
      for (const line of this.#lines.values()) line.review(now);
      return runs.values();
    }
    const only = new Set(changed.flatMap((scope) => ("run" in scope ? (runs.get(scope.run) ?? []) : [])));
    for (const run of only) for (const line of this.#linesOf.get(run.no)?.values() ?? []) line.review(now, run);
    return only;
  }

  set pressure(pressure: Pressure) {
    for (const line of this.#lines.values()) line.pressure = pressure;
  }

  age(now: Instant): readonly Notice[] {
    return this.#ofLines((line) => line.age(now));
  }

  /** What was noticed, and which task has to wait for what, since the last call. */
  takeNotices(now: Instant): readonly Notice[] {
    return [...this.#ofLines((line) => line.takeNotices()), ...this.#waits.take(now)];
  }

  *held(): Iterable<Occupancy> {
    for (const line of this.#lines.values()) yield* line.held();
  }

  /** How many tasks are held. */
  get out(): number {
    let out = 0;
    for (const line of this.#lines.values()) out += line.out;
    return out;
  }

  nextWake(now: Instant): Instant | undefined {
    let first: Instant | undefined;
    for (const line of this.#lines.values()) first = earliest(first, line.nextWake(now));
    return first;
  }

  canMove(run: Run): boolean {
    return (
      this.#linesOf
        .get(run.no)
        ?.values()
        .some((line) => line.canMove(run)) === true
    );
  }

  #ofLines(noticesOf: (line: Dispatcher) => readonly Notice[]): readonly Notice[] {
    const all: Notice[] = [];
    for (const line of this.#lines.values()) for (const notice of noticesOf(line)) all.push(notice);
    return all;
  }

  /** The dispatcher of a pool that exists from now on. */
  #open(pool: string): Dispatcher {
    const line = this.line(pool);
    this.#lines.set(pool, line);
    return line;
  }

  /** A pool without sessions and without tasks is forgotten: names of pools may come and go for years. */
  #closeIfIdle(pool: string, line: Dispatcher): void {
    if (line.roster?.size === 0 && line.runs.isUnused) this.#lines.delete(pool);
  }

  #newLine(pool: string): Dispatcher {
    const { patience, priorities } = this.#options;
    const line = new Dispatcher({
      pool,
      shared: this.#shared,
      roster: new Roster(),
      open: true,
      workers: [],
      capacity: {},
      capabilities: [],
      ...(patience && { patience }),
      ...(priorities && { priorities }),
    });
    line.pressure = this.local.pressure;
    return line;
  }
}

const isQueued = (status: Status): boolean => !isHeld(status) && !isTerminal(status.state);
