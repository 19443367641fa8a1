/** Commands with which a person steps in. */
import type { ArgumentSpec, CommandSpec, OptionSpec } from "../../frame/command.ts";
import { daemon, json, run, state, TASK, why } from "../shared.ts";

const HELD: ArgumentSpec = {
  name: "TASK",
  describe: "A task, with all tasks that depend on it",
  required: false,
};
/** The scope of the command. */
const scope = {
  run: { kind: "text", value: "ID", describe: "This run; with a task, the run it is of" },
  pool: { kind: "text", value: "NAME", describe: "This pool: `local` is this machine's own workers" },
  why,
  ...daemon,
} as const satisfies Readonly<Record<string, OptionSpec>>;

export const CONTROL_COMMANDS: readonly CommandSpec[] = [
  {
    name: "pause",
    group: "Step in",
    summary: "Put a task, a run, a pool or everything on hold",
    details:
      "No new task is started there until `rota resume`; running tasks go on. A pause survives restarts. Where no scheduler works, the next one " +
      "honours it. Without a task, --run or --pool it covers everything.",
    arguments: [HELD],
    options: scope,
    examples: ["rota pause --why 'Release day'", "rota pause --pool writers", "rota pause deploy --run last"],
    load: () => import("./pause.ts"),
  },
  {
    name: "resume",
    group: "Step in",
    summary: "End a pause",
    details: "Name what `rota pause` named; `rota status` and `rota workers` show what is on hold.",
    arguments: [HELD],
    options: scope,
    examples: ["rota resume", "rota resume --pool writers"],
    load: () => import("./resume.ts"),
  },
  {
    name: "drain",
    group: "Step in",
    summary: "Pause, and wait until running tasks have ended",
    details:
      "Exit code 0 when no task is running or claimed any more; 3 when some are, and they are listed. The pause stays in either case.",
    arguments: [HELD],
    options: { ...scope, wait: { kind: "span", describe: "How long to wait", fallback: "1m" } },
    examples: ["rota drain --wait 5m && rota resume", "rota drain --pool writers"],
    load: () => import("./drain.ts"),
  },
  {
    name: "edit",
    group: "Step in",
    summary: "Change a task that waits",
    details:
      "Values are written as in a plan. A task that is running or claimed cannot be changed, nor can its needs or its pool.",
    arguments: [TASK],
    options: {
      set: {
        kind: "text",
        many: true,
        value: "NAME=VALUE",
        describe:
          "A field and its new value, such as `priority=high` or `retry.attempts=3`; may be given several times",
      },
      "json-changes": { kind: "text", value: "JSON", describe: "All fields to change at once, as a JSON object" },
      run,
      why,
      ...daemon,
    },
    examples: ["rota edit deploy --set priority=critical --set timeout=30m"],
    load: () => import("./edit.ts"),
  },
  {
    name: "cancel",
    group: "Step in",
    summary: "Cancel a task, or a whole run",
    details:
      "A running task is stopped with everything it started, and tasks that depend on it are skipped. A cancelled task is not tried again.",
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
];
