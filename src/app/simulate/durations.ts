/** How long each task of a plan really takes in a simulation: by the file, else the plan, else earlier runs, else a second. */
import { readFile } from "node:fs/promises";
import { knownDuration } from "../../domain/durations/estimate.ts";
import type { History } from "../../domain/durations/history.ts";
import { UserError } from "../../domain/errors.ts";
import type { TaskId } from "../../domain/ids.ts";
import type { TaskSpec } from "../../domain/spec.ts";
import { DURATION_MAX, type Millis, millis } from "../../domain/time.ts";
import { closest } from "../../std/closest.ts";
import { isMap } from "../../std/schema.ts";

const DURATION_UNKNOWN = millis(1_000);

export type Durations = ReadonlyMap<TaskId, Millis>;

export interface Lasting {
  /** In the order of the plan. */
  readonly durations: readonly Millis[];
  /** How many durations come from each source. */
  readonly sources: Readonly<Record<"actual" | "estimate" | "history" | "unknown", number>>;
}

export function lastingOf(specs: readonly TaskSpec[], actual: Durations, history: History): Lasting {
  const sources = { actual: 0, estimate: 0, history: 0, unknown: 0 };
  const from = (source: keyof typeof sources, lasts: number): Millis => {
    sources[source]++;
    return millis(lasts);
  };
  const durations = specs.map((spec) => {
    const lasts = actual.get(spec.id);
    if (lasts !== undefined) return from("actual", lasts);
    const known = knownDuration(spec, ({ id }) => history.durations.get(id));
    if (known === undefined) return from("unknown", DURATION_UNKNOWN);
    return known.source === "plan" ? from("estimate", known.ms) : from("history", Math.round(known.ms));
  });
  return { durations, sources };
}

const PROBLEMS_MAX = 10;

/** A JSON object of task ids and milliseconds. All mistakes are reported at once. */
export async function readDurations(file: string, name: string, specs: readonly TaskSpec[]): Promise<Durations> {
  const value = parse(await textOf(file, name), name);
  if (!isMap(value)) throw new UserError("DURATIONS_INVALID", `${name} is not a JSON object`);
  const known = new Set<string>(specs.map(({ id }) => id));
  const found = new Map<TaskId, Millis>();
  const problems: (() => string)[] = [];
  for (const [id, lasts] of Object.entries(value)) {
    if (!known.has(id)) problems.push(() => `the plan has no task ${JSON.stringify(id)}${meant(id, known)}`);
    else if (isDuration(lasts)) found.set(id as TaskId, lasts);
    else problems.push(() => `${id} must be a number of milliseconds, 0 or more, at most a year, not ${shown(lasts)}`);
  }
  if (problems.length === 0) return found;
  const lines = problems.slice(0, PROBLEMS_MAX).map((say) => say());
  if (problems.length > lines.length) lines.push(`and ${problems.length - lines.length} more`);
  throw new UserError("DURATIONS_INVALID", `${name}: ${lines.join("\n  ")}`);
}

async function textOf(file: string, name: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const what = code === "ENOENT" ? "There is no such file" : code === "EISDIR" ? "It is a directory" : message;
    throw new UserError("DURATIONS_INVALID", `${name} cannot be read: ${what}`, {
      hint: "Check the path, and that you may read the file.",
      cause: error,
    });
  }
}

function parse(text: string, name: string): unknown {
  try {
    return JSON.parse(text.replace(/^\ufeff/, ""));
  } catch (error) {
    throw new UserError("DURATIONS_INVALID", `${name} is not JSON: ${(error as Error).message}`, { cause: error });
  }
}

/** JSON reads 1e999 as infinity. */
const isDuration = (value: unknown): value is Millis =>
  typeof value === "number" && value >= 0 && value <= DURATION_MAX;

const SHOWN_MAX = 40;

function shown(value: unknown): string {
  const text = typeof value === "number" ? String(value) : JSON.stringify(value);
  return text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text;
}

function meant(id: string, known: Iterable<string>): string {
  const near = closest(id, known);
  return near === undefined ? "" : `. Did you mean "${near}"?`;
}
