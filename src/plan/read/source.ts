/** A plan's text as a plain value. Places in the text are looked up only when they are asked for. */
import { shorten } from "../../std/problems.ts";
import { isMap } from "../../std/schema.ts";
import type { Finding } from "../check/diagnostics.ts";
import { type Place, positionsIn } from "./places.ts";

export interface Source {
  readonly value: unknown;
  /** The keys of `tasks`, when that is a map, in the order they are written in, which the value itself may have lost. */
  readonly taskKeys: readonly string[];
  /** Mistakes in a text that can be read all the same. */
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

/** Names the place of the other key, because in a long plan the user looks for it. */
export function duplicateFindings(text: string, duplicates: readonly Duplicate[]): readonly Finding[] {
  if (duplicates.length === 0) return [];
  const positionOf = positionsIn(text);
  return duplicates.map(({ key, offset, first }) => ({
    code: "PLAN_DUPLICATE",
    message: `"${shorten(key)}" is written twice; the first is on line ${positionOf(first).line}.`,
    spot: { offset },
  }));
}
