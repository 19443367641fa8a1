/** Shares out the processor time of children that ended. The kernel keeps one sum for all of them, so those of one turn are taken together. */
import { openSync, readSync } from "node:fs";

/** One child that ended. */
export interface Exit {
  /** What it had used when last looked at: its share where several ended at once. */
  readonly seenCpuMs: number;
  /** Told at the end of the turn. Nothing where it cannot be measured. */
  reaped(cpuMs: number | undefined): void;
}

const TICK_MS = 10;

export class Reaper {
  readonly #meter = openMeter();
  readonly #buffer = Buffer.alloc(1024);
  #total = 0;
  #batch: Exit[] = [];

  constructor() {
    this.#total = this.#read() ?? 0;
  }

  exited(exit: Exit): void {
    if (this.#batch.push(exit) === 1) setImmediate(() => this.#share());
  }

  #share(): void {
    const batch = this.#batch;
    this.#batch = [];
    const total = this.#read();
    const spent = total === undefined ? undefined : total - this.#total;
    this.#total = total ?? this.#total;
    const shares = batch.length === 1 ? [spent] : divide(spent, batch);
    for (const [index, exit] of batch.entries()) exit.reaped(shares[index]);
  }

  /** User and system time of every child reaped so far, and of theirs. */
  #read(): number | undefined {
    if (this.#meter === undefined) return undefined;
    const length = readSync(this.#meter, this.#buffer, 0, this.#buffer.length, 0);
    const text = this.#buffer.toString("latin1", 0, length);
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ", 15);
    const ticks = Number(fields[13]) + Number(fields[14]);
    return Number.isNaN(ticks) ? undefined : ticks * TICK_MS;
  }
}

/** By what each was seen to use; evenly when none was. Whole ticks, so that the sum stays exact. */
function divide(spent: number | undefined, batch: readonly Exit[]): (number | undefined)[] {
  if (spent === undefined) return batch.map(() => undefined);
  const seen = batch.reduce((sum, exit) => sum + exit.seenCpuMs, 0);
  let left = spent;
  return batch.map((exit, index) => {
    const fair = seen > 0 ? (spent * exit.seenCpuMs) / seen : spent / batch.length;
    const share = index === batch.length - 1 ? left : Math.min(left, Math.round(fair / TICK_MS) * TICK_MS);
    left -= share;
    return share;
  });
}

function openMeter(): number | undefined {
  try {
    return openSync("/proc/self/stat", "r");
  } catch {
    return undefined;
  }
}
