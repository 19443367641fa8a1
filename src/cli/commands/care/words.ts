/** Commands for the installation and the state directory. */
import type { CommandSpec } from "../../frame/command.ts";
import { daemon, json, state } from "../shared.ts";

export const CARE_COMMANDS: readonly CommandSpec[] = [
  {
    name: "doctor",
    group: "Look after it",
    summary: "Check this machine and a state directory",
    details:
      "Exit code 0 when nothing is wrong, 1 when something is. Each finding says what to do. With `--manifest` it looks at a run that " +
      "`rota run --manifest` wrote, wherever that was: replays its events, compares them with what is said of its tasks, and checks the laws.",
    arguments: [],
    options: {
      manifest: {
        kind: "text",
        value: "FILE",
        describe: "Look at this run, and at nothing of this machine",
        completes: "file",
      },
      json,
      state,
    },
    examples: ["rota doctor"],
    load: () => import("./doctor.ts"),
  },
  {
    name: "prune",
    group: "Look after it",
    summary: "Forget runs that ended long ago, and remove their logs",
    details:
      "Removes runs with their tasks, events and logs. Kept are the newest run, the runs that callers' keys of the last day lead to, and the " +
      "durations that were measured. No scheduler may work on the state directory: stop the daemon first. It may be interrupted at any moment; " +
      "call it again to finish. `rota run --resume` of a plan whose run was removed starts a new run. New runs use the freed space in the database.",
    arguments: [],
    options: {
      "older-than": { kind: "span", describe: "Only runs that ended longer ago than this", fallback: "30d" },
      keep: {
        kind: "count",
        value: "N",
        describe: "Keep this many of the newest runs, however old they are",
        fallback: "1",
      },
      "dry-run": { kind: "flag", describe: "Say which runs would be forgotten, and change nothing" },
      json,
      state,
    },
    examples: ["rota prune --older-than 30d --dry-run", "rota prune --older-than 12h --keep 20"],
    load: () => import("./prune.ts"),
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
    name: "token issue",
    group: "Look after it",
    summary: "Issue a token for a daemon that listens on TCP",
    details:
      "The token is printed once; only its hash is kept. `rota events` names the token behind each call. A session belongs to " +
      "the token that joined it: no other token acts for it, unless its scope is `admin`.",
    arguments: [{ name: "NAME", describe: "A name for its holder", required: true }],
    options: {
      scope: {
        kind: "text",
        value: "SCOPE",
        describe: "`read` looks, `work` joins, claims and reports as well, `admin` does everything",
        choices: ["read", "work", "admin"],
        fallback: "work",
      },
      expires: { kind: "span", describe: "After how long it is refused", fallback: "never" },
      ...daemon,
    },
    examples: ["rota token issue laptop --scope read --expires 30d"],
    load: () => import("./token-issue.ts"),
  },
  {
    name: "token list",
    group: "Look after it",
    summary: "List the tokens that were issued",
    arguments: [],
    options: daemon,
    examples: ["rota token list"],
    load: () => import("./token-list.ts"),
  },
  {
    name: "token revoke",
    group: "Look after it",
    summary: "Refuse a token from now on",
    arguments: [{ name: "ID", describe: "The id that `rota token list` shows", required: true }],
    options: daemon,
    examples: ["rota token revoke a1b2c3"],
    load: () => import("./token-revoke.ts"),
  },
  {
    name: "soak",
    group: "Look after it",
    summary: "Test that no task is lost or done twice when machines fail",
    details:
      "Simulates, seed after seed, schedulers, sessions, processes, a network and a disk that fail in many ways, and checks after each step " +
      "that every promise still holds. It runs no command and touches no state directory. Exit code 1 when a promise was broken, with the command " +
      "that replays the smallest failing part of the seed.",
    arguments: [],
    options: {
      minutes: { kind: "count", value: "N", describe: "For how long", fallback: "1" },
      seed: { kind: "count", value: "N", describe: "The first seed", fallback: "1" },
      seeds: { kind: "count", value: "N", describe: "No more seeds than this" },
      store: {
        kind: "text",
        value: "STORE",
        choices: ["memory", "sqlite"],
        describe: "The store to simulate on; `sqlite` uses real files on a disk that fails",
        fallback: "memory",
      },
      real: { kind: "flag", describe: "Spend half of the time on a real daemon that is killed again and again" },
      report: { kind: "text", value: "FILE", describe: "Write the report to this file, as JSON", completes: "file" },
      replay: { kind: "count", value: "SEED", describe: "Play this seed alone, and print what happens in it" },
      without: { kind: "text", value: "KINDS", describe: "With `--replay`: leave these kinds of faults out" },
      tasks: { kind: "count", value: "N", describe: "With `--replay`: only the first tasks of each plan" },
      plans: { kind: "count", value: "N", describe: "With `--replay`: only the first plans" },
      sessions: { kind: "count", value: "N", describe: "With `--replay`: only the first sessions" },
      span: { kind: "span", describe: "With `--replay`: for how long things go wrong" },
      json,
    },
    examples: [
      "rota soak --seeds 50",
      "rota soak --seed 1000 --seeds 20 --report soak.json",
      "rota soak --replay 17 --without crash,freeze",
    ],
    load: () => import("./soak.ts"),
  },
];
