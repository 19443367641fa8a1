/** Plans as a program writes them: a file, or an object in which a task's work may be a function. */
import { basename, dirname, join, resolve } from "node:path";
import { type LoadedPlan, loadPlan, readPlan } from "../app/runs/plan-file.ts";
import { UserError } from "../domain/errors.ts";
import type { OnFailure, Priority } from "../domain/spec.ts";
import { functionCapability } from "../domain/spec.ts";
import { digestOf } from "../effects/digest.ts";
import type { TaskFunction } from "./task-function.ts";

/** Such as `250ms`, `90s`, `5m`, `1h30m`. */
export type Duration = string;
type Scalar = string | number | boolean;
type PlanCommand = string | readonly [string, ...string[]];
type Named<T> = Readonly<Record<string, T>>;

/** What tasks have, and `defaults` may have for all of them. docs/reference/plan.md says what each field means. */
export interface PlanDefaults {
  readonly title?: string;
  readonly onFailure?: OnFailure;
  readonly priority?: Priority;
  readonly requires?: readonly string[];
  readonly resources?: Named<string | number>;
  readonly pool?: string;
  readonly workspace?: string;
  readonly channel?: string;
  readonly session?: string;
  readonly provider?: string;
  readonly reads?: readonly string[];
  readonly writes?: readonly string[];
  readonly env?: Named<Scalar | { readonly from: string }>;
  readonly cwd?: string;
  readonly retry?: {
    readonly attempts?: number;
    readonly backoff?: Duration;
    readonly factor?: number;
    readonly max?: Duration;
    readonly on?: readonly number[];
  };
  readonly timeout?: Duration | { readonly soft?: Duration; readonly hard?: Duration };
  readonly progress?: Duration;
  readonly estimate?: Duration;
  readonly gate?: boolean | string;
  readonly verify?: PlanCommand;
  readonly limits?: { readonly memory?: string | number };
  readonly labels?: Named<Scalar>;
}

/** A task of a plan: a command or a function to `run`, a function to `call` by name, or a prompt for a pool of agents. */
export interface PlanTask extends PlanDefaults {
  readonly run?: PlanCommand | TaskFunction;
  readonly prompt?: string;
  readonly call?: string;
  readonly idempotencyKey?: string;
  readonly needs?: readonly string[];
  readonly after?: readonly string[];
  readonly matrix?: Named<readonly Scalar[]>;
}

/** A plan as a value: what a plan file holds, and functions. */
export interface PlanObject {
  readonly name?: string;
  readonly description?: string;
  readonly weight?: number;
  readonly tenant?: string;
  readonly resources?: Named<string | number>;
  readonly defaults?: PlanDefaults;
  readonly tasks: Named<PlanTask>;
}

/** The path of a plan file, or a plan. */
export type PlanSource = string | PlanObject;

/** Refuses fields that no plan and no task has, which a type that is inferred would let pass. */
export type Known<P> = P extends { readonly tasks: infer T }
  ? { readonly [F in Exclude<keyof P, keyof PlanObject>]: never } & {
      readonly tasks: { readonly [K in keyof T]: { readonly [F in Exclude<keyof T[K], keyof PlanTask>]: never } };
    }
  : unknown;

/** Functions by the names under which tasks call them. */
export type Functions = Readonly<Record<string, TaskFunction>>;

export interface ReadOptions {
  readonly functions: Functions;
  /** Relative to it are a plan file, and what the tasks of a plan object do. */
  readonly directory: string;
}

/** A plan that can be run here, with all the functions its tasks call. */
export interface ReadPlan {
  readonly loaded: LoadedPlan;
  readonly functions: ReadonlyMap<string, TaskFunction>;
}

export async function readSource(source: PlanSource, { functions, directory }: ReadOptions): Promise<ReadPlan> {
  const known = new Map(Object.entries(functions));
  const capabilities = (): readonly string[] => [...known.keys()].map(functionCapability);
  if (typeof source === "string") {
    const file = resolve(directory, source);
    return { loaded: await loadPlan(file, { strict: false, capabilities: capabilities() }), functions: known };
  }
  const text = JSON.stringify({ ...source, tasks: withoutFunctions(source.tasks, known) }, undefined, 2);
  const name = source.name ?? "plan";
  const plan = await readPlan(text, `${name}.json`, { capabilities: capabilities() });
  const file = join(resolve(directory), basename(name));
  const digest = digestOf(new TextEncoder().encode(text));
  return { loaded: { plan, file, directory: dirname(file), digest, warnings: [] }, functions: known };
}

/** A function is known under the id of its task, and called by that. */
function withoutFunctions(tasks: Named<PlanTask>, known: Map<string, TaskFunction>): Named<object> {
  const plain: [string, object][] = Object.entries(tasks).map(([id, task]) => {
    const { run, ...rest } = task;
    if (typeof run !== "function") return [id, task];
    if (known.has(id)) throw twice(id);
    known.set(id, run);
    return [id, { ...rest, call: id }];
  });
  return Object.fromEntries(plain);
}

const twice = (name: string): UserError =>
  new UserError("USAGE", `There are two functions ${name}: one in the plan, and one under \`functions\``, {
    hint: `Keep one of them: a task calls the second with \`call: "${name}"\`.`,
  });
