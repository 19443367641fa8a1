/** What is wrong with a value, and where in it. Problems are collected and never thrown: a person wants to see all of them at once. */

export type PathPart = string | number;
/** The keys and indices that lead to a value, from the root. */
export type Path = readonly PathPart[];

export const PROBLEM_CODES = ["type", "value", "missing", "key-unknown", "key-forbidden", "id", "unsupported"] as const;
export type ProblemCode = (typeof PROBLEM_CODES)[number];

/** Whether the key is wrong, or its value. */
export type Blame = "key" | "value";

export interface Problem {
  readonly code: ProblemCode;
  readonly path: Path;
  readonly at: Blame;
  readonly message: string;
  readonly hint?: string;
}

/** A person reads no more than this many; further problems are only counted. */
export const PROBLEMS_MAX = 200;

/** Gathers problems while a value is read. It knows the place being read, so that readers need not carry it along. */
export class Problems {
  readonly list: Problem[] = [];
  readonly #path: PathPart[] = [];
  readonly #root: string;
  readonly #max: number;
  #count = 0;

  /** `root` is how the whole value is called in messages, such as "the plan". */
  constructor(root: string, max: number = PROBLEMS_MAX) {
    this.#root = root;
    this.#max = max;
  }

  /** How many problems there were, with those that the list has no room for. */
  get count(): number {
    return this.#count;
  }

  /** Whether the list is full: further problems are only counted, so their hints need not be worked out. */
  get full(): boolean {
    return this.#count >= this.#max;
  }

  enter(part: PathPart): void {
    this.#path.push(part);
  }

  leave(): void {
    this.#path.pop();
  }

  report(
    code: ProblemCode,
    message: string,
    more: { readonly hint?: string | undefined; readonly at?: Blame } = {},
  ): void {
    this.#count++;
    if (this.list.length >= this.#max) return;
    const problem = { code, path: this.#path.slice(), at: more.at ?? "value", message };
    this.list.push(more.hint === undefined ? problem : { ...problem, hint: more.hint });
  }

  /** The current place as people write it: `tasks.build.needs[2]`. */
  where(): string {
    let text = "";
    for (const part of this.#path) {
      if (typeof part === "number") text += `[${part}]`;
      else text += text === "" ? shorten(part) : `.${shorten(part)}`;
    }
    return text === "" ? this.#root : text;
  }
}

const SHOWN_MAX = 40;
const UNPRINTABLE = /[\p{Cc}\p{Surrogate}\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/gu;

/** Text from a file, made fit for one line of a terminal: never longer than it needs to be, and nothing that moves the cursor. */
export function shorten(text: string, max: number = SHOWN_MAX): string {
  const cut = text.length > max ? `${text.slice(0, max - 1)}…` : text;
  return cut.replace(UNPRINTABLE, (char) => `\\u${(char.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`);
}

/** A value as a message names it. */
export function show(value: unknown): string {
  if (value === null || value === undefined) return "empty";
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  if (typeof value !== "object") return `"${shorten(typeof value === "string" ? value : typeof value)}"`;
  if (Array.isArray(value)) return value.length === 0 ? "an empty list" : "a list";
  return Object.keys(value).length === 0 ? "an empty map" : "a map";
}
