/** What a task is, as the plan says it: fixed from the moment it is submitted. */
import type { TaskId } from "./ids.ts";
import { hours, type Millis, millis, seconds } from "./time.ts";

export const PRIORITIES = ["critical", "high", "normal", "low"] as const;
export type Priority = (typeof PRIORITIES)[number];

/** A shell string is explicit about being one; a list is run as it is. */
export type Command = { readonly shell: string } | { readonly argv: readonly [string, ...string[]] };
/** What an agent is asked to do, in words: for sessions, which know what to do with it. */
export interface Prompt {
  readonly prompt: string;
}
/** A function of the program that runs the scheduler within itself, by its name. */
export interface Call {
  readonly call: string;
}
/** What a task's worker does. */
export type Work = Command | Prompt | Call;

/** A scheduler that has the function has this capability, and a task that calls it requires it. */
export const functionCapability = (name: string): string => `function:${name}`;

/** The pool of this machine's own processes. */
export const LOCAL_POOL = "local";

/** A value, or the name of a variable of the scheduler's own environment: a secret that is never stored, and masked in logs. */
export type EnvValue = string | { readonly from: string };

/** Amounts by resource name: `cpu` in thousandths of a core, `memory` in bytes, everything else in whole slots. */
export type Amounts = Readonly<Record<string, number>>;

/** An amount for a span of time: tokens a minute, calls a second. */
export interface Rate {
  readonly amount: number;
  readonly per: Millis;
}
export type Rates = Readonly<Record<string, Rate>>;

export interface RetryPolicy {
  /** Tries in all, the first included. */
  readonly attempts: number;
  readonly backoff: Millis;
  readonly factor: number;
  readonly max: Millis;
  /** Exit codes worth another try; empty means every one. */
  readonly on: readonly number[];
}

export interface TimeoutPolicy {
  /** After this the task is asked to end, and killed a grace later. */
  readonly soft?: Millis;
  /** After this it is killed. */
  readonly hard: Millis;
}

/** What to do when something this task needs did not succeed. */
export const ON_FAILURE = ["skip", "continue"] as const;
export type OnFailure = (typeof ON_FAILURE)[number];

/** A task as the plan says it, with all defaults filled in. */
export interface TaskSpec {
  readonly id: TaskId;
  readonly title?: string;
  readonly run: Work;
  /** Tasks that must succeed first. */
  readonly needs: readonly TaskId[];
  /** Tasks that must end first, whatever their outcome. */
  readonly after: readonly TaskId[];
  readonly onFailure: OnFailure;
  readonly priority: Priority;
  /** The pool whose sessions do the task; absent for this machine's own processes. */
  readonly pool?: string;
  /** Only sessions that joined with this workspace; absent: only sessions without one. */
  readonly workspace?: string;
  /** Only sessions that joined with this channel; absent: any. */
  readonly channel?: string;
  /** Only this session. */
  readonly session?: string;
  /** Capabilities a worker must have. */
  readonly requires: readonly string[];
  readonly resources: Amounts;
  /** The service that the task depends on: while it keeps failing, no task that names it is started. */
  readonly provider?: string;
  readonly reads: readonly string[];
  readonly writes: readonly string[];
  readonly env: Readonly<Record<string, EnvValue>>;
  /** Relative to the plan's directory. */
  readonly cwd?: string;
  readonly retry: RetryPolicy;
  readonly timeout: TimeoutPolicy;
  /** Silence longer than this is reported; nothing is killed. */
  readonly progress?: Millis;
  readonly estimate?: Millis;
  /** What a person is asked to approve before the task may start. */
  readonly gate?: string;
  /** Must exit 0 after the task's own command before the task counts as done. */
  readonly verify?: Command;
  /** The task is stopped when its processes together use more memory than this, in bytes. */
  readonly memoryLimit?: number;
  /** The work is done once over all runs of the store: a task takes the result of another task that has succeeded with the same key. */
  readonly idempotencyKey?: string;
  readonly labels: Readonly<Record<string, string>>;
}

export const RETRY_DEFAULT: RetryPolicy = {
  attempts: 1,
  backoff: millis(100),
  factor: 2,
  max: seconds(30),
  on: [],
};
const TIMEOUT_DEFAULT: TimeoutPolicy = { hard: hours(1) };

/** Everything a plan may leave out. Shared by all tasks that leave it out, so that a million of them stay small. */
export const SPEC_DEFAULTS = {
  needs: [],
  after: [],
  onFailure: "skip",
  priority: "normal",
  requires: [],
  resources: {},
  reads: [],
  writes: [],
  env: {},
  retry: RETRY_DEFAULT,
  timeout: TIMEOUT_DEFAULT,
  labels: {},
} as const satisfies Partial<TaskSpec>;

/** Whether this is the name of a worker of the local pool: no session can have such a name. */
export const isLocalWorker = (worker: string): boolean => worker.startsWith(`${LOCAL_POOL}/`);

export const poolOf = ({ pool }: TaskSpec): string => pool ?? LOCAL_POOL;

/** The spec without what equals its default: what the store keeps. */
export function packSpec(spec: TaskSpec): Partial<TaskSpec> {
  const packed: Record<string, unknown> = {};
  const defaults: Record<string, unknown> = SPEC_DEFAULTS;
  for (const [key, value] of Object.entries(spec)) {
    if (value !== undefined && value !== defaults[key] && !isEmptyLike(value, defaults[key])) packed[key] = value;
  }
  return packed;
}

/** The inverse of `packSpec`. */
export const unpackSpec = (packed: Partial<TaskSpec>): TaskSpec => ({ ...SPEC_DEFAULTS, ...packed }) as TaskSpec;

const isEmptyLike = (value: unknown, fallback: unknown): boolean =>
  typeof value === "object" &&
  value !== null &&
  typeof fallback === "object" &&
  fallback !== null &&
  Object.keys(value).length === 0 &&
  Object.keys(fallback).length === 0;
