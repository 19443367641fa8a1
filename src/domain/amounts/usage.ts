/** What an attempt used: an open record, in which every figure says where it is from. */

/** Where a figure is from: the system counted it, an executor looked from time to time, or the worker says so. */
export const USAGE_SOURCES = ["measured", "sampled", "reported"] as const;
export type UsageSource = (typeof USAGE_SOURCES)[number];

export interface Figure {
  readonly amount: number;
  readonly source: UsageSource;
}

/** By name: `cpuMs`, `peakBytes`, and whatever else a worker can tell. A figure that is unknown is absent: unknown is not zero. */
export type Usage = Readonly<Record<string, Figure>>;

/** What two attempts or commands used that came one after the other. Where the system measures every command, one unknown figure makes the sum unknown. */
export function usedByBoth(first: Usage | undefined, second: Usage | undefined): Usage | undefined {
  if (first === undefined || second === undefined) return first ?? second;
  const both: Record<string, Figure> = {};
  for (const name of new Set([...Object.keys(first), ...Object.keys(second)])) {
    const figure = together(name, first[name], second[name]);
    if (figure !== undefined) both[name] = figure;
  }
  return both;
}

function together(name: string, first: Figure | undefined, second: Figure | undefined): Figure | undefined {
  if (first === undefined || second === undefined) {
    const known = first ?? second;
    return isPeak(name) || known?.source === "reported" ? known : undefined;
  }
  const amount = isPeak(name) ? Math.max(first.amount, second.amount) : first.amount + second.amount;
  return { amount, source: weaker(first.source, second.source) };
}

const isPeak = (name: string): boolean => name.startsWith("peak");
const weaker = (a: UsageSource, b: UsageSource): UsageSource =>
  USAGE_SOURCES.indexOf(a) > USAGE_SOURCES.indexOf(b) ? a : b;
