/** What held tasks share: workers, amounts, rates and files. Each law says what is wrong, if anything is. */
import { join } from "node:path/posix";
import type { WorkerId } from "../../domain/ids.ts";
import { overlaps } from "../../domain/paths.ts";
import type { Amounts, Rate } from "../../domain/spec.ts";
import { LOCAL_POOL, poolOf } from "../../domain/spec.ts";
import type { Instant } from "../../domain/time.ts";
import { nameOf, type SeenTask } from "./seen.ts";

type Say = (law: string) => void;

interface Bucket {
  level: number;
  at: number;
}

/** Rates are counted in fractions of a unit. */
const ROUNDING = 1e-6;

export class Shared {
  /** What the machine for the local tasks has. */
  readonly #capacity: Amounts;
  readonly #local = new Map<string, number>();
  readonly #own = new Map<string, number>();
  readonly #buckets = new Map<string, Bucket>();
  readonly #load = new Map<WorkerId, number>();
  readonly #files = new Set<SeenTask>();
  #last = 0;
  /** Clocks were set back between two schedulers: how much a rate has filled up since then is unknown. */
  #isTimeless = false;

  constructor(capacity: Amounts) {
    this.#capacity = capacity;
  }

  loadOf(worker: WorkerId): number {
    return this.#load.get(worker) ?? 0;
  }

  /** To be told the time of every event. */
  hear(at: Instant): void {
    this.#isTimeless ||= at < this.#last;
    this.#last = at;
  }

  take(task: SeenTask, worker: WorkerId, at: Instant, say: Say): void {
    const { spec } = task;
    task.taken = spec.resources;
    this.#load.set(worker, this.loadOf(worker) + 1);
    this.#takeAmounts(task, at, say);
    if (spec.reads.length + spec.writes.length === 0) return;
    for (const other of this.#files) {
      if (collide(task, other)) say(`${nameOf(task)} and ${nameOf(other)} touch the same files at the same time`);
    }
    this.#files.add(task);
  }

  /** The work is done: its worker and amounts are free, its files stay locked. */
  giveBack(task: SeenTask): void {
    const { taken, worker } = task;
    if (worker !== undefined) this.#load.set(worker, this.loadOf(worker) - 1);
    for (const name in taken) {
      const amount = taken[name] as number;
      add(this.#own, `${task.run.no}:${name}`, -amount);
      if (poolOf(task.spec) === LOCAL_POOL) add(this.#local, name, -amount);
    }
    task.taken = {};
  }

  unlock(task: SeenTask): void {
    this.#files.delete(task);
  }

  #takeAmounts(task: SeenTask, at: Instant, say: Say): void {
    const { resources, rates = {} } = task.run.manifest;
    for (const name in task.taken) {
      const amount = task.taken[name] as number;
      const own = add(this.#own, `${task.run.no}:${name}`, amount);
      const most = resources[name];
      if (most !== undefined && own > most) say(`${own} of ${most} ${name} of run ${task.run.no} given out`);
      const rate = rates[name];
      if (rate !== undefined) this.#draw(task, name, rate, amount, at, say);
      if (poolOf(task.spec) !== LOCAL_POOL) continue;
      const local = add(this.#local, name, amount);
      const there = this.#capacity[name];
      if (there !== undefined && local > there) say(`${local} of ${there} ${name} of this machine given out`);
    }
  }

  /** A bucket that is full when the plan is submitted, and fills up with time. Time that goes back fills nothing. */
  #draw(task: SeenTask, name: string, rate: Rate, amount: number, at: Instant, say: Say): void {
    const key = `${task.run.no}:${name}`;
    const bucket = this.#buckets.get(key) ?? { level: rate.amount, at: task.run.manifest.submittedAt };
    const refilled = (rate.amount / rate.per) * Math.max(0, at - bucket.at);
    bucket.level = Math.min(rate.amount, bucket.level + refilled) - amount;
    bucket.at = Math.max(bucket.at, at);
    this.#buckets.set(key, bucket);
    if (bucket.level >= -ROUNDING || this.#isTimeless) return;
    say(`${name} of run ${task.run.no} goes faster than ${rate.amount} in ${rate.per} ms`);
  }
}

function add(to: Map<string, number>, key: string, amount: number): number {
  const sum = (to.get(key) ?? 0) + amount;
  to.set(key, sum);
  return sum;
}

function collide(a: SeenTask, b: SeenTask): boolean {
  const [own, other] = [placesOf(a), placesOf(b)];
  const meet = (xs: readonly string[], ys: readonly string[]) => xs.some((x) => ys.some((y) => overlaps(x, y)));
  return meet(own.writes, other.writes) || meet(own.writes, other.reads) || meet(own.reads, other.writes);
}

const placesOf = ({ spec, run: { manifest } }: SeenTask) => ({
  reads: spec.reads.map((path) => join(manifest.directory, path)),
  writes: spec.writes.map((path) => join(manifest.directory, path)),
});
