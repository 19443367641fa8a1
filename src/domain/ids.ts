/** Names of things. Branded, so that a worker's name cannot stand where a task's is asked for. */
declare const brand: unique symbol;
type Id<Kind extends string> = string & { readonly [brand]: Kind };

export type RunId = Id<"Run">;
export type TaskId = Id<"Task">;
export type WorkerId = Id<"Worker">;

/** The only places where a raw string becomes an id: parsing at the edge, or a row read back from the store. */
export const runId = (raw: string): RunId => raw as RunId;
export const taskId = (raw: string): TaskId => raw as TaskId;
export const workerId = (raw: string): WorkerId => raw as WorkerId;

export const ID_LENGTH_MAX = 128;
const ID = /^[A-Za-z0-9_][A-Za-z0-9._-]*$/;
/** Words that mean something to the language itself and would be a trap as keys. */
const RESERVED = new Set(["__proto__", "constructor", "prototype"]);

/** Ids become file names, environment values and arguments, so they hold nothing that any of these could misread. */
export const isId = (raw: string): boolean => raw.length <= ID_LENGTH_MAX && ID.test(raw) && !RESERVED.has(raw);
