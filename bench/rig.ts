/** What the benchmarks share: children that measure in a process of their own, medians, and how results are shown. */
import { spawn } from "node:child_process";
import { cpus } from "node:os";
import { fileURLToPath } from "node:url";

export interface BenchOptions {
  /** Smaller sizes, to see that it works. */
  readonly quick: boolean;
  /** Where published instances are. */
  readonly data?: string;
}

/** One figure, the goal it is held against, and whether it is met. */
export interface Goal {
  readonly goal: string;
  readonly value: number;
  readonly limit: number;
  readonly met: boolean;
}

export interface Report {
  readonly machine: { readonly node: string; readonly cores: number; readonly cpu: string };
  readonly goals: readonly Goal[];
  readonly results: Readonly<Record<string, unknown>>;
}

export type Bench = (options: BenchOptions) => Promise<Report>;

export const machine = (): Report["machine"] => ({
  node: process.version,
  cores: cpus().length,
  cpu: cpus()[0]?.model ?? "unknown",
});

export const atMost = (goal: string, value: number, limit: number): Goal => ({
  goal,
  value: round(value),
  limit,
  met: value <= limit,
});
export const atLeast = (goal: string, value: number, limit: number): Goal => ({
  goal,
  value: round(value),
  limit,
  met: value >= limit,
});

export const median = (values: readonly number[]): number => {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1
    ? (sorted[middle] as number)
    : ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2;
};

export interface Percentiles {
  readonly samples: number;
  readonly p50: number;
  readonly p99: number;
}

export function percentiles(values: readonly number[]): Percentiles {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] as number;
  return { samples: values.length, p50: at(0.5), p99: at(0.99) };
}

/** The first samples of latency are taken one right after the other, so that the common code is fully compiled. */
const HURRIED_SAMPLES = 2_000;
/**
 * They are thrown away, and so are the next, which are taken as those that count: what is only called after a pause would otherwise be
 * compiled meanwhile, beside one sample in twenty, and that is what the slowest of a hundred would then show.
 */
export const WARM_UP_SAMPLES = HURRIED_SAMPLES + 500;
/** How long a system is left alone before the next sample: never the same twice in a row, so that no poll keeps step with it. */
export const idleMs = (no: number): number => (no < HURRIED_SAMPLES ? 0 : 5 + ((no * 7) % 17));

export const round = (value: number): number => Number(value.toPrecision(4));

/** Runs `script` in a fresh Node and returns the JSON it prints: no heap, cache or JIT state of one measurement reaches the next. */
export function inChild<T>(script: URL, args: readonly (string | number)[]): Promise<T> {
  const flags = ["--disable-warning=ExperimentalWarning", "--expose-gc", "--max-old-space-size=16000"];
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [...flags, fileURLToPath(script), ...args.map(String)], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      output += chunk;
    });
    child.on("error", reject);
    child.on("close", (code) => {
      if (code === 0) resolve(JSON.parse(output.trim().split("\n").at(-1) as string) as T);
      else reject(new Error(`${script.pathname} ${args.join(" ")} exited with ${code}`));
    });
  });
}

export function printReport(name: string, { machine: where, goals, results }: Report): void {
  const lines = [`${name} on Node ${where.node}, ${where.cores} × ${where.cpu}`, JSON.stringify(results, null, 2)];
  for (const { goal, value, limit, met } of goals)
    lines.push(`${met ? "met   " : "MISSED"} ${goal}: ${value} (limit ${limit})`);
  process.stdout.write(`${lines.join("\n")}\n`);
}
