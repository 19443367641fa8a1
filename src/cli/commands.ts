/** Every command there is. Parsing, help, completion and the reference page are made from this table. */
import { type ArgumentSpec, type CommandSpec, type OptionSpec, SHARED_OPTIONS } from "./command.ts";

const { state, json } = SHARED_OPTIONS;
const PLAN: ArgumentSpec = { name: "PLAN", describe: "The plan, YAML or JSON", required: true, completes: "file" };
const TASK: ArgumentSpec = { name: "TASK", describe: "The id of a task", required: true };
const RUN: ArgumentSpec = { name: "RUN", describe: "A run: its id, the start of it, or `last`", required: false };
const run: OptionSpec = {
  kind: "text",
  value: "ID",
  describe: "The run: its id, the start of it, or `last`",
  fallback: "the newest",
};
const why: OptionSpec = { kind: "text", value: "TEXT", describe: "The reason, kept with the record of it" };
const workers: OptionSpec = {
  kind: "count",
  value: "N",
  describe: "How many tasks may run at once",
  fallback: "one per core",
};
const svg: OptionSpec = { kind: "flag", describe: "Draw it as an SVG picture" };
const html: OptionSpec = { kind: "flag", describe: "Draw it as a page of its own" };
const output: OptionSpec = {
  kind: "text",
  short: "o",
  value: "FILE",
  describe: "Write to this file instead of the terminal",
  completes: "file",
};
const stateOfPlan: OptionSpec = { ...state, fallback: "$ROTA_STATE, else .rota beside the plan" };

export const COMMANDS: readonly CommandSpec[] = [
  {
    name: "init",
    group: "Write a plan",
    summary: "Write a small plan to start from",
    details: "Writes a commented plan that runs as it is. A file that is there already is left alone.",
    arguments: [
      { name: "FILE", describe: "Where to write it; `plan.yaml` when left out", required: false, completes: "file" },
    ],
    options: {},
    examples: ["rota init && rota run plan.yaml"],
    load: () => import("./init.ts"),
  },
  {
    name: "check",
    group: "Write a plan",
    summary: "Say everything that is wrong with a plan",
    details:
      "Reads the plan without running it, and shows every problem with its place and what to do about it. " +
      "Exit code 0 when it can be run, 2 when it cannot.",
    arguments: [PLAN],
    options: { json, strict: { kind: "flag", describe: "Treat warnings as errors" } },
    examples: ["rota check plan.yaml", "rota check plan.yaml --strict --json"],
    load: () => import("./check.ts"),
  },
  {
    name: "simulate",
    group: "Write a plan",
    summary: "Say how long a plan would take, without running it",
    details:
      "The real scheduler on virtual time: its order, its workers, resources, rates and files, and every attempt succeeds. A " +
      "task lasts as long as `--actual` says, else its `estimate`, else what earlier runs took, else a second; the scheduler " +
      "itself goes by the estimates. Gates count as open. `cpu`, `memory` and `gpu` are this machine's unless the plan " +
      "names them. `--what-if` asks what would change with other `workers`, `nodes` (machines like this one), `priorities` " +
      "(`shares` or `strict`), `cpu`, `memory`, `gpu` or resources of the plan. Exit code 3 when some task could never start.",
    arguments: [PLAN],
    options: {
      workers,
      actual: {
        kind: "text",
        value: "FILE",
        describe: "How long tasks really take: a JSON object of task ids and milliseconds",
        completes: "file",
      },
      "what-if": {
        kind: "text",
        many: true,
        value: "CHANGES",
        describe: "Compare with this, such as `workers=8,claude=3`; may be given several times",
      },
      svg,
      html,
      json,
      output,
      state: { ...stateOfPlan, describe: "The state directory, for what earlier runs took" },
    },
    examples: [
      "rota simulate plan.yaml",
      "rota simulate plan.yaml --workers 4 --what-if workers=8 --what-if workers=8,nodes=2",
      "rota simulate plan.yaml --actual durations.json --json",
    ],
    load: () => import("./simulate.ts"),
  },
  {
    name: "schema",
    group: "Write a plan",
    summary: "Print the JSON Schema of a plan",
    details:
      "For editors: with `# yaml-language-server: $schema=FILE` on the first line of a plan they complete and check it.",
    arguments: [],
    options: {},
    examples: ["rota schema > plan.schema.json"],
    load: () => import("./schema.ts"),
  },
  {
    name: "run",
    group: "Run it",
    summary: "Run a plan to its end",
    details:
      "Runs every task as soon as what it needs has succeeded and there is room for it. Ctrl-C stops the run in order; " +
      "`--resume` goes on with it. Exit code 0 when all succeeded, 1 when a task failed, 2 for bad usage or a bad plan, " +
      "3 when work remains that nothing can move, 130 when interrupted.",
    arguments: [PLAN],
    options: {
      workers,
      state: stateOfPlan,
      resume: { kind: "flag", describe: "Go on with the newest run of this plan if it did not end" },
      json: { kind: "flag", describe: "Print one line of JSON at the end, for programs" },
    },
    examples: ["rota run plan.yaml", "rota run plan.yaml --workers 4", "rota run plan.yaml --resume"],
    load: () => import("./run.ts"),
  },
  {
    name: "retry",
    group: "Run it",
    summary: "Run again what did not succeed",
    details:
      "Starts a new run of the same tasks in which everything that had succeeded counts as done. Tasks that are named are " +
      "run again even if they had succeeded. Exit codes as for `run`.",
    arguments: [{ name: "TASK", describe: "Tasks to run again in any case", required: false, many: true }],
    options: {
      run,
      workers,
      json: { kind: "flag", describe: "Print one line of JSON at the end, for programs" },
      state,
    },
    examples: ["rota retry", "rota retry build test --run last"],
    load: () => import("./retry.ts"),
  },
  {
    name: "status",
    group: "See what happens",
    summary: "Show a run: what runs, what waits, what failed",
    arguments: [RUN],
    options: { all: { kind: "flag", describe: "List every run instead" }, json, state },
    examples: ["rota status", "rota status last --json", "rota status --all"],
    load: () => import("./status.ts"),
  },
  {
    name: "why",
    group: "See what happens",
    summary: "Explain why a task is where it is",
    details:
      "Names what the task waits for, with the numbers: needs, gate, capacity, files, back-off. Or how it ended, and why.",
    arguments: [TASK],
    options: { run, json, state },
    examples: ["rota why deploy"],
    load: () => import("./why.ts"),
  },
  {
    name: "timeline",
    group: "See what happens",
    summary: "Draw what ran when",
    arguments: [RUN],
    options: {
      svg,
      html,
      json,
      output,
      state,
    },
    examples: ["rota timeline", "rota timeline last --html -o timeline.html"],
    load: () => import("./timeline.ts"),
  },
  {
    name: "events",
    group: "See what happens",
    summary: "List everything that happened, in order",
    details:
      "One line per event. With `--json` each line is an object with `seq`, `at`, `run`, `kind`, and for a task `task`, `attempt` and `fence`.",
    arguments: [],
    options: {
      run: { ...run, fallback: "every run" },
      task: { kind: "text", value: "TASK", describe: "Only events of this task" },
      follow: { kind: "flag", short: "f", describe: "Go on as new ones come in; with --run until that run ends" },
      json,
      state,
    },
    examples: ["rota events --json", "rota events --run last --task build --follow"],
    load: () => import("./events.ts"),
  },
  {
    name: "logs",
    group: "See what happens",
    summary: "Show what a task printed",
    details:
      "The output of the newest attempt, as it was written. On a terminal, control characters are made visible " +
      "so that no output can disturb it; anywhere else the bytes are passed on as they are.",
    arguments: [TASK],
    options: {
      run,
      attempt: { kind: "count", value: "N", describe: "Which attempt", fallback: "the newest" },
      follow: { kind: "flag", short: "f", describe: "Go on as it grows, until the attempt ends" },
      tail: { kind: "count", value: "N", describe: "Only the last N lines" },
      state,
    },
    examples: ["rota logs build", "rota logs build -f --tail 20", "rota logs build --attempt 1 > build.log"],
    load: () => import("./logs.ts"),
  },
  {
    name: "cancel",
    group: "Step in",
    summary: "Cancel a task, or a whole run",
    details:
      "What runs is stopped with everything it started; what depends on it is skipped. A cancelled task is not tried again.",
    arguments: [{ ...TASK, describe: "The id of a task; the whole run when left out", required: false }],
    options: { run, why, json, state },
    examples: ["rota cancel", "rota cancel deploy --why 'wrong branch'"],
    load: () => import("./cancel.ts"),
  },
  {
    name: "approve",
    group: "Step in",
    summary: "Open a task's gate",
    arguments: [TASK],
    options: { run, why, json, state },
    examples: ["rota approve publish --why 'looks good'"],
    load: () => import("./approve.ts"),
  },
  {
    name: "requeue",
    group: "Step in",
    summary: "Put a parked task back in the queue",
    details: "For a task that waits for a person. It costs none of its attempts.",
    arguments: [TASK],
    options: { run, why, json, state },
    examples: ["rota requeue train"],
    load: () => import("./requeue.ts"),
  },
  {
    name: "doctor",
    group: "Look after it",
    summary: "Check this machine and a state directory",
    details: "Exit code 0 when nothing is wrong, 1 when something is. Each finding says what to do.",
    arguments: [],
    options: { json, state },
    examples: ["rota doctor"],
    load: () => import("./doctor.ts"),
  },
  {
    name: "config",
    group: "Look after it",
    summary: "Show every setting and where its value comes from",
    details:
      "Settings come from flags, then `ROTA_*` variables, then `rota.config.yaml` or `.json` beside the plan or above the " +
      "current directory, then the defaults.",
    arguments: [
      {
        name: "WHAT",
        describe: "`show` prints the values, `schema` the JSON Schema of the file",
        required: false,
        choices: ["show", "schema"],
      },
    ],
    options: { json },
    examples: ["rota config", "ROTA_WORKERS=4 rota config show --json"],
    load: () => import("./config.ts"),
  },
  {
    name: "completion",
    group: "Look after it",
    summary: "Print a completion script for a shell",
    arguments: [{ name: "SHELL", describe: "Your shell", required: true, choices: ["bash", "zsh", "fish"] }],
    options: {},
    examples: ['eval "$(rota completion bash)"', "rota completion fish > ~/.config/fish/completions/rota.fish"],
    load: async () => {
      const { completion } = await import("./completion.ts");
      return { run: completion(COMMANDS) };
    },
  },
  {
    name: "help",
    group: "Look after it",
    summary: "Show the commands, or one of them",
    arguments: [{ name: "COMMAND", describe: "The command", required: false }],
    options: {},
    examples: ["rota help run"],
    load: () => Promise.reject(new Error("help is read before any command is loaded")),
  },
];
