/** Commands that only read. */
import type { CommandSpec } from "../../frame/command.ts";
import { daemon, html, json, output, RUN, run, state, svg, TASK } from "../shared.ts";

export const LOOK_COMMANDS: readonly CommandSpec[] = [
  {
    name: "status",
    group: "See what happens",
    summary: "Show a run: what runs, what waits, what failed",
    arguments: [RUN],
    details:
      "With `--watch` it is drawn again on the terminal whenever something has changed, until the run has ended or no scheduler works on it; " +
      "Ctrl-C ends only the watching, with exit code 130. With `--watch --json` each change is a line of JSON.",
    options: {
      all: { kind: "flag", describe: "List every run instead" },
      watch: { kind: "flag", short: "w", describe: "Show it again whenever something has changed" },
      json,
      state,
    },
    examples: ["rota status", "rota status last --json", "rota status --all", "rota status --watch --json"],
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
    name: "workers",
    group: "See what happens",
    summary: "Show who works: local workers and agents' sessions",
    details: "Each with its task, its state and when it was last heard of; and what is on hold.",
    arguments: [],
    options: daemon,
    examples: ["rota workers", "rota workers --json"],
    load: () => import("./workers.ts"),
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
];
