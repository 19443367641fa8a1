/**
 * One definition of a value's shape, from which follow its type, its reading, its JSON Schema and its documentation.
 *
 * Our own and small on purpose: a plan may hold a million tasks, so reading allocates nothing but the result, throws
 * nothing, and reports every problem with the path to it. Nothing is recursive in the data: depth is the schema's.
 */
import { closest } from "./closest.ts";
import { type ProblemCode, Problems, show } from "./problems.ts";

export type JsonSchema = { readonly [key: string]: unknown };
const TYPES = ["string", "number", "boolean", "list", "map", "empty"] as const;
type JsonType = (typeof TYPES)[number];
type Presence = "required" | "optional" | "defaulted";
/** Gives nothing when it has reported a problem. */
type Reader<T> = (value: unknown, problems: Problems) => T | undefined;

interface Definition<T> {
  readonly read: Reader<T>;
  /** A function is called at the first use: most programs only read values and never ask for the JSON Schema. */
  readonly json: JsonSchema | (() => JsonSchema);
  /** What a message says was expected: "a duration such as 90s". */
  readonly expects: string;
  /** What kinds of value it can take, so that a union knows which schema to ask. */
  readonly types: readonly JsonType[];
  /** What to do about a value of another kind, where something can be said. */
  readonly instead?: Instead | undefined;
}

type Instead = (value: unknown) => string | undefined;

/** The shape of a value that reads as a `T`. Immutable: every method gives a new one. */
export class Schema<out T, out P extends Presence = "required"> {
  readonly read: Reader<T>;
  readonly expects: string;
  readonly types: readonly JsonType[];
  readonly presence: P;
  readonly fallback: T | undefined;
  readonly instead: Instead | undefined;
  #json: JsonSchema | (() => JsonSchema);

  constructor(definition: Definition<T>, presence: P, fallback?: T) {
    this.read = definition.read;
    this.#json = definition.json;
    this.expects = definition.expects;
    this.types = definition.types;
    this.instead = definition.instead;
    this.presence = presence;
    this.fallback = fallback;
  }

  get json(): JsonSchema {
    if (typeof this.#json === "function") this.#json = this.#json();
    return this.#json;
  }

  /** A sentence for users: it stands in the JSON Schema, and reference pages are made from it. */
  describe(sentence: string): Schema<T, P> {
    return this.#with({ json: () => ({ ...this.json, description: sentence }) });
  }

  optional(): Schema<T, "optional"> {
    return new Schema(this.#definition(), "optional");
  }

  /** What is read when the key is absent. `written` is how a user would write it, where that differs. */
  default(value: T, written: unknown = value): Schema<T, "defaulted"> {
    return new Schema({ ...this.#definition(), json: () => ({ ...this.json, default: written }) }, "defaulted", value);
  }

  /** Changes what is read, not what may be written. */
  map<U>(change: (value: T) => U): Schema<U, P> {
    const read: Reader<U> = (value, problems) => {
      const found = this.read(value, problems);
      return found === undefined ? undefined : change(found);
    };
    return new Schema<U, P>({ ...this.#definition(), read }, this.presence);
  }

  /** Refuses what reads well but does not hold. */
  where(holds: (value: T) => boolean, expects: string): Schema<T, P> {
    const read: Reader<T> = (value, problems) => {
      const found = this.read(value, problems);
      return found === undefined || holds(found) ? found : refuse("value", value, expects, problems);
    };
    return this.#with({ read, expects });
  }

  #with(change: Partial<Definition<T>>): Schema<T, P> {
    return new Schema({ ...this.#definition(), ...change }, this.presence, this.fallback);
  }

  #definition(): Definition<T> {
    return { read: this.read, json: () => this.json, expects: this.expects, types: this.types, instead: this.instead };
  }
}

export type Infer<S> = S extends Schema<infer T, Presence> ? T : never;

const define = <T>(definition: Definition<T>): Schema<T> => new Schema(definition, "required");

/** Text that stands for something else, or has rules of its own. `parse` gives nothing for what it cannot read. */
export function text<T>(rule: {
  readonly expects: string;
  readonly parse: (raw: string) => T | undefined;
  readonly json?: JsonSchema;
  readonly code?: ProblemCode;
  readonly hint?: string | ((value: unknown) => string);
  /** The rules in full, where `expects` is only the kind. */
  readonly rules?: string;
}): Schema<T> {
  const { hint } = rule;
  const instead = (value: unknown): string | undefined => (typeof hint === "function" ? hint(value) : hint);
  const read: Reader<T> = (value, problems) => {
    if (typeof value !== "string") return mismatch(value, rule.expects, problems, instead(value));
    const found = rule.parse(value);
    if (found === undefined) refuse(rule.code ?? "value", value, rule.rules ?? rule.expects, problems, instead(value));
    return found;
  };
  const json = { type: "string", ...rule.json };
  return define({ read, json, expects: rule.expects, types: ["string"], instead });
}

const NUL = String.fromCharCode(0);

/** Any text of a bounded length. A NUL ends a string elsewhere, and half a character is none: both are refused. */
export function string(options: { readonly min?: number; readonly max: number }): Schema<string> {
  const { min = 0, max } = options;
  return text({
    expects: "text",
    rules: `text of ${min > 0 ? `${min} to` : "at most"} ${max} whole characters without NUL`,
    parse: (raw) =>
      raw.length >= min && raw.length <= max && !raw.includes(NUL) && raw.isWellFormed() ? raw : undefined,
    json: min > 0 ? { minLength: min, maxLength: max } : { maxLength: max },
  });
}

interface Range {
  readonly min?: number;
  readonly max?: number;
}

export function integer(range: Range = {}): Schema<number> {
  const { min = Number.MIN_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER } = range;
  return numeric(
    "integer",
    `a whole number${within(range)}`,
    (n) => Number.isSafeInteger(n) && n >= min && n <= max,
    range,
  );
}

/** A finite number. */
export function number(range: Range = {}): Schema<number> {
  const { min = -Number.MAX_VALUE, max = Number.MAX_VALUE } = range;
  return numeric("number", `a number${within(range)}`, (n) => n >= min && n <= max, range);
}

function numeric(type: string, expects: string, fits: (value: number) => boolean, range: Range): Schema<number> {
  const read: Reader<number> = (value, problems) => {
    if (typeof value !== "number") return mismatch(value, expects, problems);
    if (!fits(value)) return refuse("value", value, expects, problems);
    // Minus zero is equal to zero and yet prints differently: there is only one zero here.
    return value === 0 ? 0 : value;
  };
  const bounds = {
    ...(range.min !== undefined && { minimum: range.min }),
    ...(range.max !== undefined && { maximum: range.max }),
  };
  return define({ read, json: { type, ...bounds }, expects, types: ["number"] });
}

function within({ min, max }: Range): string {
  if (min !== undefined && max !== undefined) return ` from ${min} to ${max}`;
  if (min !== undefined) return ` of at least ${min}`;
  return max === undefined ? "" : ` of at most ${max}`;
}

export function boolean(): Schema<boolean> {
  const read: Reader<boolean> = (value, problems) =>
    typeof value === "boolean" ? value : mismatch(value, "true or false", problems);
  return define({ read, json: { type: "boolean" }, expects: "true or false", types: ["boolean"] });
}

/** The value may be there and be nothing. */
export function nullable<T>(schema: Schema<T>): Schema<T | null> {
  const nothing = define<null>({
    read: (value, problems) => (value === null ? null : mismatch(value, "null", problems)),
    json: { type: "null" },
    expects: "null",
    types: ["empty"],
  });
  return union(schema, nothing);
}

/** Whatever JSON can hold. */
export function anything(): Schema<unknown> {
  return define({ read: (value) => value, json: {}, expects: "a value", types: TYPES });
}

/** One of a list of words. */
export function oneOf<const W extends readonly [string, ...string[]]>(words: W): Schema<W[number]> {
  const expects = words.length === 1 ? `"${words[0]}"` : `one of ${words.join(", ")}`;
  const known = new Set<unknown>(words);
  const read: Reader<W[number]> = (value, problems) => {
    if (known.has(value)) return value as W[number];
    if (typeof value !== "string") return mismatch(value, expects, problems);
    return refuse("value", value, expects, problems, problems.full ? undefined : didYouMean(value, words));
  };
  return define({ read, json: { type: "string", enum: [...words] }, expects, types: ["string"] });
}

/** A list. When reading changes no item, the list itself is given back. */
export function list<T>(
  item: Schema<T>,
  options: { readonly min?: number; readonly max?: number } = {},
): Schema<readonly T[]> {
  const { min = 0, max = Number.POSITIVE_INFINITY } = options;
  const expects = min > 0 ? "a list that is not empty" : "a list";
  const read: Reader<readonly T[]> = (value, problems) => {
    if (!Array.isArray(value)) return mismatch(value, expects, problems, asList(value));
    if (value.length < min) return refuse("value", value, expects, problems);
    if (value.length > max) return refuse("value", value, `a list of at most ${max}`, problems);
    const before = problems.count;
    let changed: T[] | undefined;
    for (let at = 0; at < value.length; at++) {
      problems.enter(at);
      const found = item.read(value[at], problems) as T;
      problems.leave();
      if (changed === undefined && found !== value[at]) changed = value.slice(0, at);
      changed?.push(found);
    }
    return problems.count === before ? (changed ?? value) : undefined;
  };
  /** One text with several names between commas or spaces: suggests the list that was probably meant. */
  const asList = (value: unknown): string => {
    const isOne = (one: string): boolean => item.read(one, new Problems("", 0)) !== undefined;
    if (typeof value !== "string") return `Write it as a list: [${show(value)}].`;
    const parts = value.includes(",") ? value.split(/\s*,\s*/) : isOne(value) ? [value] : value.split(/\s+/);
    const items = parts.every(isOne) ? parts : [value];
    return `Write it as a list: [${items.map(show).join(", ")}].`;
  };
  const bounds = { ...(min > 0 && { minItems: min }), ...(Number.isFinite(max) && { maxItems: max }) };
  return define({ read, json: () => ({ type: "array", items: item.json, ...bounds }), expects, types: ["list"] });
}

/** Asks whichever of the schemas takes this kind of value; where several do, the first that can read it. */
export function union<const S extends readonly Schema<unknown>[]>(...options: S): Schema<Infer<S[number]>> {
  const expects = options.map((option) => option.expects).join(", or ");
  const takers = new Map(TYPES.map((type) => [type, options.filter((option) => option.types.includes(type))]));
  const instead = (value: unknown): string | undefined =>
    options.map((option) => option.instead?.(value)).find((said) => said !== undefined);
  const read: Reader<unknown> = (value, problems) => {
    const candidates = takers.get(typeOf(value));
    if (candidates === undefined || candidates.length === 0) return mismatch(value, expects, problems, instead(value));
    if (candidates.length === 1) return candidates[0]?.read(value, problems);
    for (const candidate of candidates) {
      const found = candidate.read(value, new Problems("", 0));
      if (found !== undefined) return found;
    }
    return refuse("value", value, expects, problems);
  };
  const json = () => ({ anyOf: options.map((option) => option.json) });
  return define({ read, json, expects, types: options.flatMap((option) => option.types) }) as Schema<Infer<S[number]>>;
}

/** Says that the value is of the wrong kind altogether. */
export function mismatch(value: unknown, expects: string, problems: Problems, hint?: string): undefined {
  problems.report("type", `${problems.where()} must be ${expects}, not ${show(value)}.`, { hint });
}

function refuse(code: ProblemCode, value: unknown, expects: string, problems: Problems, hint?: string): undefined {
  problems.report(code, `${problems.where()} must be ${expects}, not ${show(value)}.`, { hint });
}

/** The hint for an unknown word, when one of the known words is near. */
export function didYouMean(word: string, known: Iterable<string>): string | undefined {
  const near = closest(word, known);
  return near === undefined ? undefined : `Did you mean "${near}"?`;
}

export const isMap = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function typeOf(value: unknown): JsonType {
  const type = typeof value;
  if (type === "string" || type === "number" || type === "boolean") return type;
  if (Array.isArray(value)) return "list";
  return isMap(value) ? "map" : "empty";
}
