/** Schemas of maps: objects, whose keys are known, and records, whose keys follow a rule. */
import { closest } from "./closest.ts";
import { type ProblemCode, type Problems, shorten } from "./problems.ts";
import { type Infer, isMap, type JsonSchema, mismatch, Schema } from "./schema.ts";

type AnyField = Schema<unknown, "required" | "optional" | "defaulted">;
export type Fields = Readonly<Record<string, AnyField>>;

type OptionalKeys<F extends Fields> = {
  [K in keyof F]: F[K] extends Schema<unknown, "optional"> ? K : never;
}[keyof F];
type Simplify<T> = { [K in keyof T]: T[K] };

/** What an object of these fields reads as. */
export type Read<F extends Fields> = Simplify<
  { readonly [K in Exclude<keyof F, OptionalKeys<F>>]: Infer<F[K]> } & {
    readonly [K in OptionalKeys<F>]?: Infer<F[K]>;
  }
>;

/** What a key may look like. */
export interface KeyRule {
  readonly accepts: (key: string) => boolean;
  readonly expects: string;
  /** The same rule for JSON Schema. */
  readonly pattern: string;
  readonly code?: ProblemCode;
}

/** Keys that mean something to the language itself. As keys of data they are mistakes or attacks. */
const FORBIDDEN = new Set(["__proto__", "constructor", "prototype"]);

/** Whether the key is refused wherever it stands; if so, that is reported. */
export function isForbidden(key: string, problems: Problems): boolean {
  if (!FORBIDDEN.has(key)) return false;
  problems.enter(key);
  problems.report("key-forbidden", `"${key}" cannot be used as a key.`, { at: "key" });
  problems.leave();
  return true;
}

/** A field that is understood but refused: something a wider language has and this version does not. */
export const refused = (message: string): Schema<never, "optional"> =>
  new Schema<never, "optional">(
    { read: refuseField(message), json: REFUSED, expects: "absent", types: [] },
    "optional",
  );
const REFUSED: JsonSchema = { not: {} };
const isRefused = (field: AnyField): boolean => field.types.length === 0;
const refuseField = (message: string) => (_: unknown, problems: Problems) => {
  problems.report("unsupported", message, { at: "key" });
  return undefined;
};

export interface ObjectSchema<F extends Fields> extends Schema<Read<F>> {
  readonly fields: F;
}

/** A word of another language or tool that stands where a field should. */
export interface Foreign {
  /** What to do about it. */
  readonly hint: string;
  /** The field that was meant, and is not missing then. */
  readonly field?: string;
}

interface ObjectOptions {
  /** The name of the object in messages: "a task". */
  readonly name?: string;
  /** Words that are no fields here and yet are known. */
  readonly foreign?: Readonly<Record<string, Foreign>>;
  /** What to do about a value that is no map at all. */
  readonly instead?: (value: unknown) => string | undefined;
  /** What a message says was expected in place of something that is no map. */
  readonly expects?: string;
  /** Keys that are passed over in silence: room for a file's own notes. */
  readonly ignores?: RegExp;
}

/** An object with exactly these fields. Unknown keys are problems, with the nearest known key as a hint. */
export function object<const F extends Fields>(fields: F, options: ObjectOptions = {}): ObjectSchema<F> {
  const { name = "this map", expects = "a map" } = options;
  const known = new Map<string, AnyField>(Object.entries(fields));
  const absentees = [...known].filter(([, field]) => field.presence !== "optional");

  const read = (value: unknown, problems: Problems): Read<F> | undefined => {
    if (!isMap(value)) return mismatch(value, expects, problems, options.instead?.(value));
    const before = problems.count;
    /** Keys that are not reported as missing: the user misspelt them or wrote a refused field in their place, and would be told twice. */
    let excused: Set<string | undefined> | undefined;
    const found: Record<string, unknown> = {};
    for (const key of Object.keys(value)) {
      const field = known.get(key);
      if (field === undefined) {
        if (options.ignores?.test(key) === true) continue;
        excused ??= new Set();
        excused.add(reportUnknown(key, known, { ...options, name }, problems));
        continue;
      }
      problems.enter(key);
      found[key] = field.read(value[key], problems);
      problems.leave();
      if (isRefused(field)) excused = new Set(known.keys());
    }
    fillIn(absentees, value, found, problems, excused);
    return problems.count === before ? (found as Read<F>) : undefined;
  };

  const schema = new Schema<Read<F>>(
    { read, json: () => objectJson(known, options), expects, types: ["map"] },
    "required",
  );
  return Object.assign(schema, { fields });
}

function fillIn(
  absentees: readonly (readonly [string, AnyField])[],
  value: object,
  found: Record<string, unknown>,
  problems: Problems,
  excused: ReadonlySet<string | undefined> | undefined,
): void {
  for (const [key, field] of absentees) {
    if (Object.hasOwn(value, key) || excused?.has(key)) continue;
    if (field.presence === "defaulted") found[key] = field.fallback;
    else
      problems.report("missing", `${problems.where()} lacks "${key}".`, {
        at: "key",
        hint: `Add "${key}": ${field.expects}.`,
      });
  }
}

/** Gives the key that was probably meant. */
function reportUnknown(
  key: string,
  known: ReadonlyMap<string, AnyField>,
  { name, foreign = {} }: ObjectOptions,
  problems: Problems,
): string | undefined {
  if (isForbidden(key, problems)) return undefined;
  const { field, hint } = Object.hasOwn(foreign, key) ? (foreign[key] as Foreign) : likeness(key, known, problems);
  problems.enter(key);
  problems.report("key-unknown", `"${shorten(key)}" is not a field of ${name}.`, { at: "key", hint });
  problems.leave();
  return field;
}

function likeness(key: string, known: ReadonlyMap<string, AnyField>, problems: Problems): Partial<Foreign> {
  const near = problems.full ? undefined : closest(key, shownKeys(known));
  return near === undefined ? {} : { field: near, hint: `Did you mean "${near}"?` };
}

const shownKeys = (known: ReadonlyMap<string, AnyField>): readonly string[] =>
  [...known].filter(([, field]) => !isRefused(field)).map(([key]) => key);

function objectJson(known: ReadonlyMap<string, AnyField>, options: ObjectOptions): JsonSchema {
  const shown = [...known].filter(([, field]) => !isRefused(field));
  const required = shown.filter(([, field]) => field.presence === "required").map(([key]) => key);
  return {
    type: "object",
    properties: Object.fromEntries(shown.map(([key, field]) => [key, field.json])),
    ...(options.ignores !== undefined && { patternProperties: { [options.ignores.source]: true } }),
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  };
}

interface RecordOptions<F extends Fields> {
  /** Keys with a schema of their own; all others follow the rule. */
  readonly fields?: F;
  readonly max?: number;
}

/** A map from names that follow a rule to values of one shape. When reading changes no value, the map itself is given back. */
export function record<T, const F extends Readonly<Record<string, Schema<T>>>>(
  key: KeyRule,
  value: Schema<T>,
  options: RecordOptions<F> = {},
): Schema<Readonly<Record<string, T>>> {
  const { max = 10_000 } = options;
  const own = new Map<string, Schema<T>>(Object.entries(options.fields ?? {}));
  const read = (map: unknown, problems: Problems): Readonly<Record<string, T>> | undefined => {
    if (!isMap(map)) return mismatch(map, "a map", problems);
    const keys = Object.keys(map);
    if (keys.length > max) return mismatch(map, `a map of at most ${max} keys`, problems);
    const before = problems.count;
    let changed: Record<string, T> | undefined;
    for (const name of keys) {
      if (!isKey(name, own.has(name) ? undefined : key, problems)) continue;
      problems.enter(name);
      const found = (own.get(name) ?? value).read(map[name], problems) as T;
      problems.leave();
      if (found !== map[name]) changed ??= { ...(map as Record<string, T>) };
      if (changed !== undefined) changed[name] = found;
    }
    return problems.count === before ? (changed ?? (map as Readonly<Record<string, T>>)) : undefined;
  };
  const json = (): JsonSchema => ({
    type: "object",
    ...(own.size > 0 && { properties: Object.fromEntries([...own].map(([name, schema]) => [name, schema.json])) }),
    propertyNames: { pattern: key.pattern },
    additionalProperties: value.json,
  });
  return new Schema({ read, json, expects: "a map", types: ["map"] }, "required");
}

function isKey(name: string, rule: KeyRule | undefined, problems: Problems): boolean {
  if (isForbidden(name, problems)) return false;
  if (rule === undefined || rule.accepts(name)) return true;
  problems.enter(name);
  problems.report(rule.code ?? "value", `"${shorten(name)}" must be ${rule.expects}.`, { at: "key" });
  problems.leave();
  return false;
}
