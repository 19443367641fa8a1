/** Inputs that are well-formed, or nearly, made by rule instead of by chance. */
import type { Random } from "../../src/effects/random.ts";
import { below, oneOf } from "./mutate.ts";

const KEYS = [
  "name",
  "tasks",
  "run",
  "needs",
  "after",
  "env",
  "retry",
  "timeout",
  "matrix",
  "resources",
  "labels",
  "id",
  "pool",
  "prompt",
  "kind",
  "params",
  "method",
  "task",
  "fence",
  "token",
  "a",
  "b",
  "__proto__",
  "x y",
  "ünï",
];
const WORDS = [
  "echo hi",
  "a",
  "b",
  "true",
  "5m",
  "1s",
  "null",
  "~",
  "0x10",
  "1_000",
  "yes",
  "high",
  "",
  "a: b",
  "# c",
  "*",
  "&x",
  "\u{1f680}",
  "{{ matrix.os }}",
  "2.0",
  "tools/call",
  "success",
];

const scalar = (random: Random): unknown =>
  oneOf(random, [below(random, 100), -1, 0.5, 1e21, true, null, oneOf(random, WORDS), oneOf(random, WORDS)]);

function grow(random: Random, depth: number): unknown {
  const kind = random.next();
  if (depth === 0 || kind < 0.4) return scalar(random);
  const size = below(random, 5);
  if (kind < 0.6) return Array.from({ length: size }, () => grow(random, depth - 1));
  return Object.fromEntries(Array.from({ length: size }, () => [oneOf(random, KEYS), grow(random, depth - 1)]));
}

export const growJson = (random: Random): string => JSON.stringify(grow(random, 5), null, oneOf(random, [0, 2]));

/** Block and flow style, with every kind of scalar. */
export const growYaml = (random: Random): string => yaml(grow(random, 5), 0, random);

function yaml(value: unknown, indent: number, random: Random): string {
  const pad = " ".repeat(indent);
  if (typeof value !== "object" || value === null || random.next() < 0.15) return `${inline(value, random)}\n`;
  const entries: [string, unknown][] = Array.isArray(value)
    ? value.map((each) => ["- ", each])
    : Object.entries(value).map(([key, each]) => [`${inline(key, random)}: `, each]);
  if (entries.length === 0) return Array.isArray(value) ? "[]\n" : "{}\n";
  const lines = entries.map(([lead, each]) => {
    const isNested = typeof each === "object" && each !== null && Object.keys(each).length > 0;
    return isNested
      ? `${pad}${lead.trimEnd()}\n${nested(each, indent + 2, random)}`
      : `${pad}${lead}${inline(each, random)}\n`;
  });
  return `${indent === 0 ? "" : ""}${lines.join("")}`;
}

const nested = (value: unknown, indent: number, random: Random): string => {
  const text = yaml(value, indent, random);
  return text.startsWith(" ".repeat(indent)) ? text : `${" ".repeat(indent)}${text}`;
};

function inline(value: unknown, random: Random): string {
  if (typeof value !== "string") return JSON.stringify(value);
  const style = random.next();
  if (style < 0.4) return value;
  if (style < 0.7) return JSON.stringify(value);
  return `'${value.replaceAll("'", "''")}'`;
}
