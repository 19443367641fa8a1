/** Commands for the installation and the state directory. */
import type { CommandSpec } from "../command.ts";
import { daemon, json, state } from "./shared.ts";

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
    load: () => import("../doctor.ts"),
  },
  {
    name: "prune",
    group: "Look after it",
    summary: "Forget runs that ended long ago, and remove their logs",
    details:
      "Takes the runs, their tasks, their events and their logs away. What they have taught about how long tasks take stays, the newest run " +
      "always does, and so does what the key of a caller from the last day leads to. Needs the state directory for itself: stop the " +
      "daemon first. It may be stopped at any moment, and goes on when it is called again. A plan whose run was forgotten begins anew with `rota run --resume`. The room in the database is used again for new runs.",
    arguments: [],
    options: {
      "older-than": { kind: "span", describe: "Only runs that ended longer ago than this", fallback: "30d" },
      keep: {
        kind: "count",
        value: "N",
        describe: "The newest runs stay, however old they are: so many",
        fallback: "1",
      },
      "dry-run": { kind: "flag", describe: "Say which runs would be forgotten, and change nothing" },
      json,
      state,
    },
    examples: ["rota prune --older-than 30d --dry-run", "rota prune --older-than 12h --keep 20"],
    load: () => import("../prune.ts"),
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
    load: () => import("../config.ts"),
  },
  {
    name: "token issue",
    group: "Look after it",
    summary: "Issue a token for a daemon that listens on TCP",
    details:
      "The token is printed this once; only its hash is kept. What is done with it is attributed to the name and the id. A session belongs to " +
      "the token that joined it: no other token acts for it, unless its scope is `admin`.",
    arguments: [{ name: "NAME", describe: "Whose it is", required: true }],
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
    load: () => import("../token-issue.ts"),
  },
  {
    name: "token list",
    group: "Look after it",
    summary: "List the tokens that were issued",
    arguments: [],
    options: daemon,
    examples: ["rota token list"],
    load: () => import("../token-list.ts"),
  },
  {
    name: "token revoke",
    group: "Look after it",
    summary: "Refuse a token from now on",
    arguments: [{ name: "ID", describe: "The id that `rota token list` shows", required: true }],
    options: daemon,
    examples: ["rota token revoke a1b2c3"],
    load: () => import("../token-revoke.ts"),
  },
  {
    name: "soak",
    group: "Look after it",
    summary: "Try whether anything is lost when things go wrong",
    details:
      "Plays seed after seed: schedulers, sessions, processes, a network and a disk that fail in every way they can, and looks after " +
      "each step whether what was promised still holds. Nothing is run, and no state directory is touched. Exit code 1 when a law was " +
      "broken, with the command that plays the smallest failing part of the seed again.",
    arguments: [],
    options: {
      minutes: { kind: "count", value: "N", describe: "For how long", fallback: "1" },
      seed: { kind: "count", value: "N", describe: "The first seed", fallback: "1" },
      seeds: { kind: "count", value: "N", describe: "No more seeds than this" },
      store: {
        kind: "text",
        value: "STORE",
        choices: ["memory", "sqlite"],
        describe: "What is played on: SQLite has files, on a disk that fails",
        fallback: "memory",
      },
      real: { kind: "flag", describe: "Half of the time goes to a real daemon, which is killed again and again" },
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
    load: () => import("../soak.ts"),
  },
];
