/** Looks in on live attempts from time to time: how much memory, how much output, and whether a limit was passed. */

import { later, millis } from "../../domain/time.ts";
import type { Clock, Timer } from "../../effects/clock.ts";
import { fairMemoryOf, listProcesses, memoryOf, type ProcessStat } from "../../effects/host.ts";

/** What the sampler asks of a live attempt, and what it leaves there. */
export interface Sampled {
  /** The process group, which is also the leader's process id. */
  readonly group: number;
  readonly launchedAt: number;
  readonly memoryLimit: number | undefined;
  /** How often it was looked at. */
  looks: number;
  nextLookAt: number;
  peakBytes: number | undefined;
  overLimit(): void;
  /** Looks at the log, and says whether it grows so fast that it has to be looked at again soon. */
  checkLog(): boolean;
}

/** When an attempt is looked at, counted from its start; afterwards once a second. Most are gone before the first. */
const LOOKS_MS = [20, 100, 300, 1_000] as const;
const EVERY_MS = 1_000;
/** An attempt with a memory limit is looked at this often. */
const LIMITED_EVERY_MS = 100;
/** Of a processor, at most a twentieth goes into looking. */
const REST_FACTOR = 20;

export class Sampler {
  readonly #clock: Clock;
  readonly #sampled = new Set<Sampled>();
  #timer: Timer | undefined;
  #restUntil = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(sampled: Sampled): void {
    sampled.looks = 0;
    sampled.nextLookAt = sampled.launchedAt + LOOKS_MS[0];
    this.#sampled.add(sampled);
    if (this.#timer === undefined) this.#arm(LOOKS_MS[0]);
  }

  remove(sampled: Sampled): void {
    this.#sampled.delete(sampled);
  }

  /** Looking is no reason to stay. */
  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #tick(): void {
    this.#timer = undefined;
    const now = this.#clock.now();
    const due = [...this.#sampled].filter((sampled) => sampled.nextLookAt <= now);
    const fast = this.#look(due, now);
    for (const sampled of due) schedule(sampled, now, fast.has(sampled));
    let next = Number.POSITIVE_INFINITY;
    for (const sampled of this.#sampled) next = Math.min(next, sampled.nextLookAt);
    if (next === Number.POSITIVE_INFINITY) return;
    this.#arm(Math.max(LOOKS_MS[0] / 2, next - this.#clock.now()));
  }

  #arm(ms: number): void {
    this.#timer = this.#clock.at(later(this.#clock.now(), millis(ms)), () => this.#tick());
  }

  /** A first look is at the leader alone; a later one at everything, once for all who are due. */
  #look(due: readonly Sampled[], now: number): ReadonlySet<Sampled> {
    const fast = new Set<Sampled>();
    const whole = due.filter((sampled) => sampled.looks > 0 && now >= this.#restUntil);
    const groups = whole.length > 0 ? byGroup(listProcesses()) : new Map<number, readonly number[]>();
    for (const sampled of due) {
      judge(sampled, groups.get(sampled.group) ?? [sampled.group]);
      if (sampled.checkLog()) fast.add(sampled);
    }
    if (whole.length > 0) this.#restUntil = this.#clock.now() + (this.#clock.now() - now) * REST_FACTOR;
    return fast;
  }
}

function schedule(sampled: Sampled, now: number, isFast: boolean): void {
  sampled.looks++;
  if (isFast) sampled.nextLookAt = now + LOOKS_MS[0];
  if (isFast) return;
  const planned = LOOKS_MS[sampled.looks];
  const usual = planned === undefined ? now + EVERY_MS : sampled.launchedAt + planned;
  sampled.nextLookAt = sampled.memoryLimit === undefined ? usual : Math.min(usual, now + LIMITED_EVERY_MS);
}

function judge(sampled: Sampled, pids: readonly number[]): void {
  let resident = 0;
  let highest = 0;
  for (const pid of pids) {
    const memory = memoryOf(pid);
    resident += memory?.resident ?? 0;
    highest = Math.max(highest, memory?.peak ?? 0);
  }
  const most = Math.max(resident, highest);
  if (most > 0) sampled.peakBytes = Math.max(sampled.peakBytes ?? 0, most);
  const limit = sampled.memoryLimit;
  if (limit === undefined || resident <= limit) return;
  // Forked processes share pages: the plain sum counts these several times, so a group is judged by shares.
  const fair = pids.length === 1 ? resident : pids.reduce((sum, pid) => sum + (fairMemoryOf(pid) ?? 0), 0);
  if (fair > limit) sampled.overLimit();
}

function byGroup(processes: readonly ProcessStat[]): Map<number, number[]> {
  const groups = new Map<number, number[]>();
  for (const { zombie, group, pid } of processes) {
    if (zombie) continue;
    const members = groups.get(group);
    if (members === undefined) groups.set(group, [pid]);
    else members.push(pid);
  }
  return groups;
}
