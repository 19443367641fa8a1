/** What is fair, in numbers: shares of the service in windows of time, and how far they are from what the weights say. */
import type { Contest, Party, Stay } from "./contest.ts";

/** The largest part a task takes of anything: a worker, or what it asks for. */
export function dominantShare({ work }: Pick<Stay, "work">, { workers, capacity = {} }: Contest): number {
  const parts = Object.entries(work.resources ?? {}).map(([name, amount]) => amount / (capacity[name] ?? amount));
  return Math.max(1 / workers, ...parts);
}

/** Resource-seconds of each party in each cell of time. */
export function serviceByCell(
  setup: Contest,
  stays: readonly Stay[],
  cell: number,
  until: number,
): readonly Float64Array[] {
  const cells = Math.floor(until / cell);
  const service = setup.parties.map(() => new Float64Array(cells));
  for (const stay of stays) {
    const share = dominantShare(stay, setup);
    const mine = service[stay.party] as Float64Array;
    for (let at = Math.floor(stay.start / cell); at < cells && at * cell < stay.end; at++) {
      const overlap = Math.min(stay.end, (at + 1) * cell) - Math.max(stay.start, at * cell);
      mine[at] = (mine[at] as number) + overlap * share;
    }
  }
  return service;
}

/** For each window, what each party had of all that was had. */
export function windowShares(service: readonly Float64Array[], cellsPerWindow: number): readonly number[][] {
  const cells = service[0]?.length ?? 0;
  const windows: number[][] = [];
  for (let first = 0; first + cellsPerWindow <= cells; first++) {
    const sums = service.map((mine) =>
      mine.subarray(first, first + cellsPerWindow).reduce((sum, each) => sum + each, 0),
    );
    const all = sums.reduce((sum, each) => sum + each, 0);
    if (all > 0) windows.push(sums.map((each) => each / all));
  }
  return windows;
}

export const targetsOf = (parties: readonly Party[]): readonly number[] => {
  const all = parties.reduce((sum, { weight }) => sum + weight, 0);
  return parties.map(({ weight }) => weight / all);
};

/** How much of the service went to the wrong party. */
export const serviceError = (shares: readonly number[], targets: readonly number[]): number =>
  shares.reduce((sum, share, at) => sum + Math.abs(share - (targets[at] as number)), 0) / 2;

/** How far the worst treated party is off, as a part of what it should have. */
export const worstError = (shares: readonly number[], targets: readonly number[]): number =>
  Math.max(...shares.map((share, at) => Math.abs(share - (targets[at] as number)) / (targets[at] as number)));

export function jain(shares: readonly number[], targets: readonly number[]): number {
  const ratios = shares.map((share, at) => share / (targets[at] as number));
  const sum = ratios.reduce((total, each) => total + each, 0);
  return sum ** 2 / (ratios.length * ratios.reduce((total, each) => total + each ** 2, 0));
}

export const mean = (values: readonly number[]): number =>
  values.reduce((sum, each) => sum + each, 0) / Math.max(1, values.length);

export function quantile(values: readonly number[], at: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(at * sorted.length) - 1))] ?? Number.NaN;
}

/** Until when every party had something waiting: the start of the first party's last task. */
export function backloggedUntil(setup: Contest, stays: readonly Stay[]): number {
  const started = setup.parties.map(() => 0);
  const last = setup.parties.map(() => Number.POSITIVE_INFINITY);
  for (const { party, start } of stays) {
    started[party] = (started[party] as number) + 1;
    if (started[party] === setup.parties[party]?.tasks.length) last[party] = start;
  }
  return Math.min(...last, setup.until ?? Number.POSITIVE_INFINITY);
}
