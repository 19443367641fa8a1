/** A plan's text as a plain value. Where something in it stands is found only when asked. */
import { shorten } from "../std/problems.ts";
import { isMap } from "../std/schema.ts";
import type { Finding } from "./diagnostics.ts";
import { type Place, positionsIn } from "./places.ts";

export interface Source {
  readonly value: unknown;
  /** The keys of `tasks`, when that is a map, in the order they are written in, which the value itself may have lost. */
  readonly taskKeys: readonly string[];
  /** What is wrong with the text although it has a value. */
  readonly findings: readonly Finding[];
  /** Keys that are written twice in one map, in the order of the file. The value has the last of them. */
  readonly duplicates: readonly Duplicate[];
  /** Fills in the offsets of the places asked for. */
  locate(places: Place): void;
}

/** The keys of `tasks`; `orders` has those of maps that could not keep them in order. */
export function taskKeysOf(value: unknown, orders?: ReadonlyMap<object, readonly string[]>): readonly string[] {
  const tasks = isMap(value) ? value.tasks : undefined;
  return isMap(tasks) ? (orders?.get(tasks) ?? Object.keys(tasks)) : [];
}

/** A plan is five levels deep; anything much deeper is a mistake or an attack. */
export const DEPTH_MAX = 100;

export const nestedTooDeeply = (offset: number): Finding => ({
  code: "PLAN_TOO_LARGE",
  message: `Lists and maps stand inside each other more than ${DEPTH_MAX} deep.`,
  spot: { offset },
  hint: "A plan needs only a handful of levels.",
});

export interface Duplicate {
  readonly key: string;
  readonly offset: number;
  /** Where the key stands for the first time. */
  readonly first: number;
}

/** Says where the other one is, because in a long plan that is what one looks for. */
export function duplicateFindings(text: string, duplicates: readonly Duplicate[]): readonly Finding[] {
  if (duplicates.length === 0) return [];
  const positionOf = positionsIn(text);
  return duplicates.map(({ key, offset, first }) => ({
    code: "PLAN_DUPLICATE",
    message: `"${shorten(key)}" is written twice; the first is on line ${positionOf(first).line}.`,
    spot: { offset },
  }));
}
