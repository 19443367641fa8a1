/** Commands that run plans. */
import type { CommandSpec } from "../../frame/command.ts";
import { daemon, jsonAtEnd, PLAN, run, state, stateOfPlan, workers } from "../shared.ts";

export const RUN_COMMANDS: readonly CommandSpec[] = [
  {
    name: "run",
    group: "Run it",
    summary: "Run a plan to its end",
    details:
      "Runs every task as soon as what it needs has succeeded and there is room for it. On a terminal it asks at a gate: `y` opens it, `n` " +
      "cancels its task; anywhere else the run ends there. Ctrl-C stops the run in an orderly way; " +
      "`--resume` goes on with it. `--only` runs a part of the plan: the tasks that are named and everything they need; `--resume` then goes on with " +
      "that part. Exit code 0 when all succeeded, 1 when a task failed, 2 for bad usage or a bad plan, " +
      "3 when what remains waits for a person or cannot go on, 130 when interrupted.",
    arguments: [PLAN],
    options: {
      workers,
      state: stateOfPlan,
      only: {
        kind: "text",
        many: true,
        value: "TASKS",
        describe: "Only these tasks and what they need: `build`, or `build,test`",
      },
      resume: { kind: "flag", describe: "Go on with the newest run of this plan if it did not end" },
      manifest: {
        kind: "text",
        value: "FILE",
        describe: "When it ends or stops, write the run to this file, for `simulate` and `doctor --manifest`",
        completes: "file",
      },
      "dry-run": { kind: "flag", describe: "Say what would run, in which order and where, and run and write nothing" },
      json: jsonAtEnd,
    },
    examples: [
      "rota run plan.yaml",
      "rota run plan.yaml --dry-run",
      "rota run plan.yaml --only test",
      "rota run plan.yaml --workers 4",
      "rota run plan.yaml --resume",
    ],
    load: () => import("./run.ts"),
  },
  {
    name: "serve",
    group: "Run it",
    summary: "Run a scheduler for many plans, agents, people and programs",
    details:
      "Owns a state directory until it is told to stop: goes on with every run that did not end, runs what is submitted, and " +
      "lets sessions claim the tasks of their pools. It logs to standard error: runs, tasks, sessions and pauses. It answers on a socket that only you can use, and with `--listen` on an " +
      "address of this machine, with a token.\n\n" +
      "Stopped with Ctrl-C or SIGTERM, it leaves running tasks running. The next `rota serve` takes them over, if it starts within " +
      "`leaseTtl` (see `rota config`). With `--stop-tasks` they are stopped with it, and begin again under the next one.",
    arguments: [],
    options: {
      workers,
      state,
      socket: {
        kind: "text",
        value: "PATH",
        describe: "The path of the socket; commands that name the state directory find it anyway",
        fallback: "rota.sock in the state directory",
        completes: "file",
      },
      listen: { kind: "text", value: "HOST:PORT", describe: "Listen on this address too, for callers with a token" },
      "stop-tasks": { kind: "flag", describe: "Stop running tasks when the daemon is told to stop" },
      quiet: { kind: "flag", short: "q", describe: "Do not log runs, tasks, sessions and pauses" },
      json: {
        kind: "flag",
        describe: "Print one line of JSON when it is ready, for programs, and log nothing",
      },
    },
    examples: ["rota serve", "rota serve --workers 4 --listen 127.0.0.1:7777"],
    load: () => import("./serve.ts"),
  },
  {
    name: "submit",
    group: "Run it",
    summary: "Hand a plan to the daemon",
    details:
      "Prints the id of its run. With --wait it shows what happens and ends with the run, with the exit codes of `run`; Ctrl-C then ends only the " +
      "watching. The same --key submits once: a second call gives the run of the first.",
    arguments: [PLAN],
    options: {
      key: { kind: "text", value: "KEY", describe: "Submit once under this key" },
      wait: { kind: "flag", describe: "Wait for its end" },
      ...daemon,
    },
    examples: ["rota submit plan.yaml", "rota submit plan.yaml --wait --key release-1.2"],
    load: () => import("./submit.ts"),
  },
  {
    name: "retry",
    group: "Run it",
    summary: "Run again what did not succeed",
    details:
      "Starts a new run of the same tasks in which everything that had succeeded counts as done. Tasks that are named are " +
      "run again even if they had succeeded. A running daemon takes it over, and Ctrl-C then ends only the watching. " +
      "Exit codes as for `run`.",
    arguments: [{ name: "TASK", describe: "Tasks to run again in any case", required: false, many: true }],
    options: {
      run,
      workers,
      "no-wait": { kind: "flag", describe: "Do not wait for the end when a daemon runs it" },
      json: jsonAtEnd,
      state,
    },
    examples: ["rota retry", "rota retry build test --run last"],
    load: () => import("./retry.ts"),
  },
];
