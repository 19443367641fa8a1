/** The shape of a plan: the one definition from which its reading, its types, its JSON Schema and its reference page follow. */
import { type Command, type EnvValue, ON_FAILURE, PRIORITIES } from "../domain/spec.ts";
import { millis } from "../domain/time.ts";
import { Problems, show } from "../std/problems.ts";
import {
  boolean,
  type Infer,
  integer,
  type JsonSchema,
  list,
  number,
  oneOf,
  Schema,
  string,
  union,
} from "../std/schema.ts";
import { object, type Read, record, refused } from "../std/schema-maps.ts";
import { belongs, PLAN_WORDS, RETRY_WORDS, TASK_WORDS } from "./check/foreign.ts";
import {
  ARGUMENT_MAX,
  argument,
  bytes,
  capability,
  capacity,
  cores,
  count,
  directory,
  duration,
  envName,
  envRule,
  id,
  idRule,
  labelRule,
  line,
  name,
  path,
} from "./read/scalars.ts";

const POSITIVE = millis(1);
const MATRIX_VALUES_MAX = 1_000;
const WEIGHT_MAX = 1_000;

const shell = string({ min: 1, max: ARGUMENT_MAX })
  .where((raw) => raw.trim() !== "", "a shell command")
  .map((raw): Command => ({ shell: raw }));
const argv = list(argument, { min: 1, max: 10_000 })
  .where((words) => words[0] !== "", "a list that begins with the program to run")
  .map((words): Command => ({ argv: words as unknown as readonly [string, ...string[]] }));
/** Text is a shell command, a list is a program and its arguments. */
const command = union(shell, argv);

const scalar = union(string({ max: ARGUMENT_MAX }), number(), boolean()).map(String);
const envValue: Schema<EnvValue> = union(
  scalar,
  object({ from: envName.describe("The variable of Rota's own environment.") }, { expects: "{ from: NAME }" }),
);

const retry = object(
  {
    attempts: integer({ min: 1, max: 1_000 })
      .describe("Tries in all, the first included. Unless given 1, and 3 for what agents do.")
      .optional(),
    backoff: duration()
      .describe(
        "The longest wait before the second try. Each wait is drawn at random between nothing and its longest, so that tasks which failed together do not come back together. 100ms unless given.",
      )
      .optional(),
    factor: number({ min: 1, max: 1_000 })
      .describe("By how much the longest wait grows with each try. 2 unless given.")
      .optional(),
    max: duration().describe("What no wait is longer than. 30s unless given.").optional(),
    on: list(integer({ min: 0, max: 255 }))
      .describe("Exit codes worth another try; empty means all.")
      .optional(),
  },
  {
    name: "retry",
    foreign: RETRY_WORDS,
    instead: (value) =>
      typeof value === "number" ? "Write `retry: { attempts: 3 }`: tries in all, the first included." : undefined,
  },
);

const timeout = union(
  duration(POSITIVE).map((hard) => ({ hard })),
  object(
    {
      soft: duration(POSITIVE).describe("After this the task is asked to end, and killed a grace later.").optional(),
      hard: duration(POSITIVE).describe("After this it is killed. 1h unless given.").optional(),
    },
    { name: "timeout" },
  ),
);

const RESOURCE_FIELDS = {
  cpu: cores.describe("Cores: 2, 0.5 or 250m."),
  memory: bytes.describe("Memory: 512MiB, 4GiB."),
} as const;

const amounts = record(idRule, count, { fields: RESOURCE_FIELDS });
const capacities = record(idRule, capacity, { fields: RESOURCE_FIELDS });

const later = (what: string) => refused(`${what} cannot be used in this version of Rota.`);
/** Known to the plan language, and not run by this version. Saying so helps more than calling them unknown. */
const LATER = {
  agent: later('"agent" (work for an agent)'),
  cache: later('"cache" (results kept from earlier runs)'),
  artifacts: later('"artifacts" (files kept after a task)'),
  budget: later('"budget" (a limit on spending)'),
  shards: later('"shards" (one task split into many)'),
} as const;

/** Every field that makes sense for more than one task. */
const SHAREABLE = {
  title: line(200).describe("What people see in place of the id.").optional(),
  onFailure: oneOf(ON_FAILURE)
    .describe("What to do when something this task needs did not succeed: skip it, or continue.")
    .optional(),
  priority: oneOf(PRIORITIES).describe("Which tasks go first when not all can. normal unless given.").optional(),
  requires: list(capability).describe("Capabilities a worker must have.").optional(),
  resources: amounts
    .describe("What the task uses while it runs: cpu, memory, gpu, and names from the plan's resources.")
    .optional(),
  pool: name
    .describe("Whose work it is: agents' sessions that joined this pool. This machine's own processes unless given.")
    .optional(),
  workspace: line(4_096)
    .describe("Only sessions that work there take it; only those that work nowhere in particular unless given.")
    .optional(),
  channel: name.describe("Only sessions that listen on this channel take it.").optional(),
  session: name.describe("Only the session of this id takes it.").optional(),
  provider: name
    .describe("The service the task depends on. While it keeps failing, no task that names it is started.")
    .optional(),
  reads: list(path).describe("Paths, prefixes and globs the task reads.").optional(),
  writes: list(path)
    .describe("Paths, prefixes and globs the task writes. Tasks that touch the same file never run at the same time.")
    .optional(),
  env: record(envRule, envValue)
    .describe(
      "Environment variables. `{ from: NAME }` takes the value from Rota's own environment and keeps it out of logs.",
    )
    .optional(),
  cwd: directory.describe("Where the command runs, relative to the plan's directory.").optional(),
  retry: retry.describe("Whether and when a failed task is tried again.").optional(),
  timeout: timeout.describe("How long one try may take: a duration, or soft and hard limits.").optional(),
  progress: duration(POSITIVE).describe("Silence longer than this is reported.").optional(),
  estimate: duration().describe("How long the task is expected to take; long paths are started first.").optional(),
  gate: union(boolean(), line(1_000))
    .describe("What a person is asked before the task may start; true asks a plain question.")
    .optional(),
  verify: command
    .describe("A command that must exit 0 after the task's own before the task counts as done.")
    .optional(),
  limits: object({ memory: bytes.describe("The task is stopped when it uses more.").optional() }, { name: "limits" })
    .describe(
      "Limits that end the task when it goes over them. For tasks that this machine runs, not for those of a pool.",
    )
    .optional(),
  labels: record(labelRule, scalar).describe("Words of your own, to find tasks by.").optional(),
} as const;

const OWN = {
  run: command.describe("The command: text is given to the shell, a list is a program and its arguments.").optional(),
  prompt: string({ min: 1, max: ARGUMENT_MAX })
    .where((raw) => raw.trim() !== "", "words for an agent")
    .describe("In place of a command: what an agent is asked to do. For tasks of a pool.")
    .optional(),
  call: name
    .describe(
      "In place of a command: a function of the program that runs the plan, by its name (see docs/guides/library.md).",
    )
    .optional(),
  idempotencyKey: line(200)
    .describe(
      "Done once over all runs of the state directory: later tasks with the same key take the result of the first.",
    )
    .optional(),
  needs: list(id).describe("Tasks that must succeed first.").optional(),
  after: list(id).describe("Tasks that must end first, whatever their outcome.").optional(),
  matrix: record(idRule, list(scalar, { min: 1, max: MATRIX_VALUES_MAX }), { max: 10 })
    .describe(
      // biome-ignore lint/suspicious/noTemplateCurlyInString: this is what users write.
      "Names and their values: the task becomes one per combination, with ${matrix.NAME} replaced in its texts.",
    )
    .optional(),
} as const;

/** What `defaults` may hold. */
const COMMON = { ...SHAREABLE, ...LATER };

const TASK_OPTIONS = { name: "a task", foreign: TASK_WORDS, instead: asTask };

export const taskShape = object({ ...OWN, ...COMMON }, TASK_OPTIONS);
export const listedTaskShape = object({ id: id.describe("The task's name."), ...OWN, ...COMMON }, TASK_OPTIONS);
export const defaultsShape = object(COMMON, {
  name: "defaults",
  foreign: { ...TASK_WORDS, ...belongs(OWN, "into the task it is meant for") },
});

/** For a task that is written as its command and nothing else. */
function asTask(value: unknown): string | undefined {
  const isCommand =
    typeof value === "string" ? shell.read(value, new Problems("", 0)) : argv.read(value, new Problems("", 0));
  if (isCommand === undefined) return "Write what it runs: `run: make build`.";
  const words = Array.isArray(value) ? `[${value.map(show).join(", ")}]` : show(value);
  return `Put "run" before it: { run: ${words} }.`;
}

/** A task has a command, words for an agent, or a function to call. */
function doesOneThing(json: JsonSchema): JsonSchema {
  return { ...json, anyOf: [{ required: ["run"] }, { required: ["prompt"] }, { required: ["call"] }] };
}

/** Read one by one elsewhere, so that a million tasks are never held twice. */
const tasks = new Schema<unknown>(
  {
    read: (value) => value,
    json: {
      anyOf: [
        {
          type: "object",
          propertyNames: { pattern: idRule.pattern },
          additionalProperties: { $ref: "#/$defs/task" },
          minProperties: 1,
        },
        { type: "array", items: doesOneThing(listedTaskShape.json), minItems: 1 },
      ],
    },
    expects: "a map from ids to tasks",
    types: ["map", "list"],
  },
  "required",
);

export const planShape = object(
  {
    $schema: string({ max: 2_000 }).describe("Where the JSON Schema is, for editors.").optional(),
    name: line(200).describe("What the plan is called; the name of the file unless given.").optional(),
    description: string({ max: 65_536 }).describe("What the plan is for.").optional(),
    weight: integer({ min: 1, max: WEIGHT_MAX })
      .describe("How much the plan gets when several share the workers: 2 gets twice as much as 1. 1 unless given.")
      .optional(),
    tenant: name
      .describe("Whom the plan belongs to. Tenants share evenly, and the plans of one share what it gets by weight.")
      .optional(),
    resources: capacities
      .describe("Named capacities that tasks share: slots (claude: 2), rates (tokens: 400k/min), cpu and memory.")
      .optional(),
    defaults: defaultsShape
      .describe("Fields for every task that does not give its own. Maps such as env and retry are merged key by key.")
      .optional(),
    tasks: tasks.describe("The tasks: a map from ids to tasks, or a list of tasks with ids. Their order is kept."),
    budget: LATER.budget,
    pools: later('"pools" (groups of workers)'),
    agents: later('"agents" (work for agents)'),
  },
  {
    name: "a plan",
    ignores: /^x-/,
    foreign: {
      ...belongs(SHAREABLE, "into a task, or under `defaults` for all of them"),
      ...belongs(OWN, "into a task"),
      ...PLAN_WORDS,
    },
  },
);

export type TaskInput = Read<typeof taskShape.fields>;
export type DefaultsInput = Infer<typeof defaultsShape>;
export type PlanInput = Infer<typeof planShape>;

/** The JSON Schema of a plan, for editors and other programs. */
export function planSchema(): JsonSchema {
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Rota plan",
    description: "Tasks, what they depend on, and what they may use.",
    ...planShape.json,
    $defs: { task: doesOneThing(taskShape.json) },
  };
}
