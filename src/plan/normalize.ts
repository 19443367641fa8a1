/** From what a plan says to what the scheduler knows: defaults filled in, matrices expanded, one spec per task in plan order. */
import { isId, type TaskId, taskId } from "../domain/ids.ts";
import {
  functionCapability,
  LOCAL_POOL,
  type RetryPolicy,
  SPEC_DEFAULTS,
  type TaskSpec,
  type TimeoutPolicy,
  type Work,
} from "../domain/spec.ts";
import { formatDuration } from "../domain/time.ts";
import { type PathPart, Problems, shorten } from "../std/problems.ts";
import { isMap, mismatch } from "../std/schema.ts";
import { isForbidden } from "../std/schema-maps.ts";
import { expandMatrix } from "./matrix.ts";
import { type DefaultsInput, listedTaskShape, type PlanInput, type TaskInput, taskShape } from "./shape.ts";

export interface NormalizedTasks {
  readonly specs: TaskSpec[];
  /** The key or index under `tasks` that each spec came from; absent where that is simply its id. */
  readonly origins: readonly PathPart[] | undefined;
  /** Each task with a matrix, and the tasks made of it: a task that needs the one needs all of the others. */
  readonly bases: ReadonlyMap<TaskId, readonly TaskId[]>;
  /** Names of tasks that could not be read: a need of such a task is no further mistake. */
  readonly unread: ReadonlySet<string>;
}

/** Reads every task. `keys` are those of the map, in order. */
export function normalizeTasks(input: PlanInput, keys: readonly string[], problems: Problems): NormalizedTasks {
  const builder = new TaskBuilder(input.defaults ?? {}, problems);
  const { tasks } = input;
  problems.enter("tasks");
  if (Array.isArray(tasks)) for (const [at, task] of tasks.entries()) builder.addListed(task, at);
  else if (isMap(tasks)) for (const key of keys) builder.addNamed(key, tasks[key]);
  else mismatch(tasks, "a map from ids to tasks", problems);
  problems.leave();
  return builder.finish(Array.isArray(tasks));
}

class TaskBuilder {
  readonly #specs: TaskSpec[] = [];
  readonly #origins: PathPart[] = [];
  readonly #bases = new Map<TaskId, readonly TaskId[]>();
  readonly #unread = new Set<string>();
  readonly #base: Base;
  readonly #problems: Problems;

  constructor(defaults: DefaultsInput, problems: Problems) {
    this.#problems = problems;
    this.#base = baseOf(defaults, problems);
  }

  addNamed(key: string, raw: unknown): void {
    const problems = this.#problems;
    if (!isId(key)) {
      reportBadId(key, problems);
      this.#unread.add(key);
      return;
    }
    problems.enter(key);
    const input = taskShape.read(raw, problems);
    if (input === undefined) this.#addUnread(taskId(key), raw, key);
    else this.#add(taskId(key), input, key);
    problems.leave();
  }

  addListed(raw: unknown, at: number): void {
    this.#problems.enter(at);
    const input = listedTaskShape.read(raw, this.#problems);
    if (input !== undefined) this.#add(input.id, input, at);
    else if (isMap(raw) && typeof raw.id === "string") this.#addUnread(taskId(raw.id), raw, at);
    this.#problems.leave();
  }

  finish(isList: boolean): NormalizedTasks {
    const specs = this.#specs;
    if (this.#bases.size > 0) {
      for (const [no, spec] of specs.entries()) specs[no] = withBases(spec, this.#bases);
    }
    const origins = isList || this.#bases.size > 0 ? this.#origins : undefined;
    return { specs, origins, bases: this.#bases, unread: this.#unread };
  }

  /** The plan is refused already, but the edges of this task are still checked: the user is told all mistakes at once. */
  #addUnread(id: TaskId, raw: unknown, origin: PathPart): void {
    this.#unread.add(id);
    const quiet = new Problems("", 0);
    const namesIn = (field: "needs" | "after"): readonly TaskId[] =>
      (isMap(raw) ? taskShape.fields[field].read(raw[field], quiet) : undefined) ?? [];
    this.#specs.push({ ...SPEC_DEFAULTS, id, run: { shell: "" }, needs: namesIn("needs"), after: namesIn("after") });
    this.#origins.push(origin);
  }

  #add(id: TaskId, input: TaskInput, origin: PathPart): void {
    const spec = specOf(id, input, this.#base, this.#problems);
    if (input.matrix === undefined) {
      this.#specs.push(spec);
      this.#origins.push(origin);
      return;
    }
    const expanded = expandMatrix(spec, input.matrix, this.#problems);
    this.#bases.set(
      id,
      expanded.map((one) => one.id),
    );
    for (const one of expanded) {
      this.#specs.push(one);
      this.#origins.push(origin);
    }
  }
}

function reportBadId(key: string, problems: Problems): void {
  if (isForbidden(key, problems)) return;
  problems.enter(key);
  problems.report("id", `"${shorten(key)}" cannot be the id of a task.`, { at: "key" });
  problems.leave();
}

function withBases(spec: TaskSpec, bases: ReadonlyMap<TaskId, readonly TaskId[]>): TaskSpec {
  const isBase = (id: TaskId): boolean => bases.has(id);
  if (!spec.needs.some(isBase) && !spec.after.some(isBase)) return spec;
  const all = (ids: readonly TaskId[]): readonly TaskId[] => ids.flatMap((id) => bases.get(id) ?? [id]);
  return { ...spec, needs: all(spec.needs), after: all(spec.after) };
}

/** What a task has that says nothing itself. Shared by all such tasks, so that a million of them stay small. */
type Base = Omit<TaskSpec, "id" | "run" | "needs" | "after" | "gate"> & { readonly gate?: string | boolean };

function baseOf(defaults: DefaultsInput, problems: Problems): Base {
  problems.enter("defaults");
  const base: Base = {
    ...SPEC_DEFAULTS,
    onFailure: defaults.onFailure ?? SPEC_DEFAULTS.onFailure,
    priority: defaults.priority ?? SPEC_DEFAULTS.priority,
    requires: defaults.requires ?? SPEC_DEFAULTS.requires,
    resources: defaults.resources ?? SPEC_DEFAULTS.resources,
    reads: defaults.reads ?? SPEC_DEFAULTS.reads,
    writes: defaults.writes ?? SPEC_DEFAULTS.writes,
    env: defaults.env ?? SPEC_DEFAULTS.env,
    labels: defaults.labels ?? SPEC_DEFAULTS.labels,
    retry: merged(SPEC_DEFAULTS.retry, defaults.retry),
    timeout: timeoutOf(SPEC_DEFAULTS.timeout, defaults.timeout, problems),
    ...(defaults.title !== undefined && { title: defaults.title }),
    ...(defaults.pool !== undefined && { pool: defaults.pool }),
    ...(defaults.workspace !== undefined && { workspace: defaults.workspace }),
    ...(defaults.channel !== undefined && { channel: defaults.channel }),
    ...(defaults.session !== undefined && { session: defaults.session }),
    ...(defaults.provider !== undefined && { provider: defaults.provider }),
    ...(defaults.cwd !== undefined && { cwd: defaults.cwd }),
    ...(defaults.progress !== undefined && { progress: defaults.progress }),
    ...(defaults.estimate !== undefined && { estimate: defaults.estimate }),
    ...(defaults.gate !== undefined && { gate: defaults.gate }),
    ...(defaults.verify !== undefined && { verify: defaults.verify }),
    ...(defaults.limits?.memory !== undefined && { memoryLimit: defaults.limits.memory }),
  };
  problems.leave();
  return base;
}

/** What it calls is a requirement like any other: only a scheduler that has the function may take it. */
function requiresOf({ requires, call }: TaskInput, base: Base): TaskSpec["requires"] {
  const own = requires ?? base.requires;
  return call === undefined ? own : [...own, functionCapability(call)];
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** One literal and a few assignments, not spreads: this runs once for each of a million tasks. */
function specOf(id: TaskId, input: TaskInput, base: Base, problems: Problems): TaskSpec {
  const spec: Writable<TaskSpec> = {
    id,
    run: workOf(input, base, problems),
    needs: input.needs ?? SPEC_DEFAULTS.needs,
    after: input.after ?? SPEC_DEFAULTS.after,
    onFailure: input.onFailure ?? base.onFailure,
    priority: input.priority ?? base.priority,
    requires: requiresOf(input, base),
    resources: merged(base.resources, input.resources),
    reads: input.reads ?? base.reads,
    writes: input.writes ?? base.writes,
    env: merged(base.env, input.env),
    retry: merged(input.prompt === undefined ? base.retry : agentRetry(base.retry), input.retry),
    timeout: timeoutOf(base.timeout, input.timeout, problems),
    labels: merged(base.labels, input.labels),
  };
  const pool = input.pool ?? base.pool;
  if (pool !== undefined && pool !== LOCAL_POOL) spec.pool = pool;
  const workspace = input.workspace ?? base.workspace;
  if (workspace !== undefined) spec.workspace = workspace;
  const channel = input.channel ?? base.channel;
  if (channel !== undefined) spec.channel = channel;
  const session = input.session ?? base.session;
  if (session !== undefined) spec.session = session;
  const title = input.title ?? base.title;
  if (title !== undefined) spec.title = title;
  const provider = input.provider ?? base.provider;
  if (provider !== undefined) spec.provider = provider;
  const cwd = input.cwd ?? base.cwd;
  if (cwd !== undefined) spec.cwd = cwd;
  const progress = input.progress ?? base.progress;
  if (progress !== undefined) spec.progress = progress;
  const estimate = input.estimate ?? base.estimate;
  if (estimate !== undefined) spec.estimate = estimate;
  const gate = input.gate ?? base.gate;
  if (gate !== undefined && gate !== false) spec.gate = gate === true ? `May ${title ?? id} start?` : gate;
  const verify = input.verify ?? base.verify;
  if (verify !== undefined) spec.verify = verify;
  if (input.idempotencyKey !== undefined) spec.idempotencyKey = input.idempotencyKey;
  const memoryLimit = memoryLimitOf(spec, input, base, problems);
  if (memoryLimit !== undefined) spec.memoryLimit = memoryLimit;
  return spec;
}

/** Only processes of this machine can be held to a limit: a default does not reach functions and the tasks of a pool, and their own is refused. */
function memoryLimitOf(
  { pool, run }: TaskSpec,
  { limits }: TaskInput,
  base: Base,
  problems: Problems,
): number | undefined {
  const isCall = "call" in run;
  if (pool === undefined && !isCall) return limits?.memory ?? base.memoryLimit;
  if (limits?.memory === undefined) return undefined;
  const who = isCall ? "a function" : `sessions of the pool "${pool}"`;
  const hint = `Take \`limits\` out, or \`${isCall ? "call" : "pool"}\`.`;
  refuse("limits", `${problems.where()} has limits, and ${who} cannot be held to them.`, hint, problems);
  return undefined;
}

/** The command, the words for an agent, or the function: one of them, and each only where there is a worker that does it. */
function workOf({ run, prompt, call, pool }: TaskInput, base: Base, problems: Problems): Work {
  const ways = Object.entries({ run, prompt, call }).filter(([, given]) => given !== undefined);
  if (ways.length === 0) problems.report("missing", `${problems.where()} lacks "run".`, { at: "key", hint: SAY_WHAT });
  if (ways.length > 1) {
    const both = ways.map(([field]) => `"${field}"`).join(" and ");
    problems.report("value", `${problems.where()} has both ${both}.`, { hint: "Keep one of them." });
  }
  const isLocal = (pool ?? base.pool ?? LOCAL_POOL) === LOCAL_POOL;
  if (prompt !== undefined && isLocal) {
    refuse("prompt", `${problems.where()} is for an agent, and no pool of agents is named.`, NAME_POOL, problems);
  }
  if (call !== undefined && !isLocal) {
    refuse("call", `${problems.where()} calls a function, and names a pool of sessions.`, NO_POOL, problems);
  }
  if (prompt !== undefined) return { prompt };
  return call === undefined ? (run ?? { shell: "" }) : { call };
}

function refuse(field: string, message: string, hint: string, problems: Problems): void {
  problems.enter(field);
  problems.report("unsupported", message, { at: "key", hint });
  problems.leave();
}
const NAME_POOL = 'Name the pool whose sessions take it: "pool: claude".';
const NO_POOL = "Leave the pool out: the program that has the function does it.";
const SAY_WHAT = `Add "run": ${taskShape.fields.run.expects}.`;

/** What an agent makes of a task is weather, where a command's failing is a result: it is tried again unless the plan says how often. */
const AGENT_ATTEMPTS = 3;
const agentRetry = (base: RetryPolicy): RetryPolicy =>
  base.attempts === SPEC_DEFAULTS.retry.attempts ? { ...base, attempts: AGENT_ATTEMPTS } : base;

/** The task's own keys win; without any, the defaults themselves are shared. */
const merged = <T extends object>(base: T, own: Partial<T> | undefined): T =>
  own === undefined ? base : { ...base, ...own };

function timeoutOf(base: TimeoutPolicy, own: Partial<TimeoutPolicy> | undefined, problems: Problems): TimeoutPolicy {
  if (own === undefined) return base;
  const timeout = { ...base, ...own };
  if (timeout.soft !== undefined && timeout.soft > timeout.hard) {
    const [soft, hard] = [formatDuration(timeout.soft), formatDuration(timeout.hard)];
    problems.enter("timeout");
    problems.report(
      "value",
      `${problems.where()} has a soft limit of ${soft}, which is after the hard one of ${hard}.`,
      {
        hint: "Make the soft limit the shorter one; the hard one is 1h unless given.",
      },
    );
    problems.leave();
  }
  return timeout;
}
