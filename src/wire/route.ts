/** A route: its method and path, the scope it needs, its request and its answer. The table of routes is `routes.ts`. */
import type { Infer, Schema } from "../std/schema.ts";
import { type Fields, type ObjectSchema, object, type Read } from "../std/schema-maps.ts";
import type { Scope } from "./scope.ts";
import type { Caller, Service, Tokens } from "./service.ts";

export const METHODS = ["GET", "POST", "DELETE"] as const;
export type Method = (typeof METHODS)[number];

/** The objects that answer the calls. */
export interface Backend {
  readonly service: Service;
  readonly tokens: Tokens;
}

/** `"/v1/runs/{run}/tasks/{task}/why"` has the names `"run" | "task"`. */
type ParamName<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParamName<Rest>
  : never;
export type Params<Path extends string> = { readonly [Name in ParamName<Path>]: string };

interface Description<Path extends string, F extends Fields, A> {
  readonly scope: Scope;
  readonly summary: string;
  /** What the answer is, in a sentence. */
  readonly answers: string;
  /** The body of a POST, the query of a GET. */
  readonly request?: ObjectSchema<F>;
  /** The shape of the answer. Absent where nothing is answered. */
  readonly answer?: Schema<A>;
  /** The request has a `waitMs`, and the answer may take that long. */
  readonly waits?: boolean;
  /** Sometimes there is nothing to answer. */
  readonly orNothing?: true;
  /** Gives nothing where there is nothing to answer: no content. */
  call(backend: Backend, params: Params<Path>, request: Read<F>, caller: Caller): Promise<A | undefined>;
}

export interface Route<Path extends string = string, F extends Fields = Fields, A = unknown>
  extends Description<Path, F, A> {
  readonly method: Method;
  readonly path: Path;
  readonly request: ObjectSchema<F>;
  readonly waits: boolean;
  /** A plan may be large; the body of anything else is small. */
  readonly large: boolean;
  /** With `text/event-stream` the answer is a stream without an end. */
  readonly stream?: "events" | "wakes";
}

/** What a caller writes for a schema: a field with a default may be left out. */
export type Asking<S> =
  S extends ObjectSchema<infer F>
    ? { readonly [K in Needed<F>]: Infer<F[K]> } & { readonly [K in Exclude<keyof F, Needed<F>>]?: Infer<F[K]> }
    : never;
type Needed<F extends Fields> = { [K in keyof F]: F[K] extends Schema<unknown, "required"> ? K : never }[keyof F];

// biome-ignore lint/complexity/noBannedTypes: the fields of a request without fields.
type NoFields = {};
const NOTHING = object({}, { name: "this request" });

const define =
  (method: Method) =>
  <const Path extends string, F extends Fields = NoFields, A = unknown>(
    path: Path,
    description: Description<Path, F, A> & Pick<Route, "stream"> & { readonly large?: boolean },
  ): Route<Path, F, A> => ({
    request: NOTHING as unknown as ObjectSchema<F>,
    waits: false,
    large: false,
    ...description,
    method,
    path,
  });

export const get = define("GET");
export const post = define("POST");
export const remove = define("DELETE");
