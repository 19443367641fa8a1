/** Commands for sessions: join, claim and report. */

import { FAILURE_KINDS } from "../../../domain/outcome.ts";
import { REPORTED_STATES } from "../../../domain/sessions/session.ts";
import { PRIORITIES } from "../../../domain/spec.ts";
import { SCOPES } from "../../../wire/scope.ts";
import type { ArgumentSpec, CommandSpec, OptionSpec } from "../../frame/command.ts";
import { daemon, run, socket, state, TASK, why } from "../shared.ts";

const SESSION: ArgumentSpec = {
  name: "SESSION",
  describe: "The session; $ROTA_SESSION when left out",
  required: false,
};
const session: OptionSpec = {
  kind: "text",
  value: "ID",
  describe: "The session",
  fallback: "$ROTA_SESSION",
};
const capability: OptionSpec = {
  kind: "text",
  many: true,
  value: "NAME",
  describe: "What it can do; may be given several times",
};
const pool: OptionSpec = {
  kind: "text",
  value: "NAME",
  describe: "The pool whose tasks it takes",
  fallback: "named like the agent",
};
const slots: OptionSpec = { kind: "count", value: "N", describe: "How many tasks it does at once", fallback: "1" };
const workspace: OptionSpec = { kind: "text", value: "DIR", describe: "Where it works", completes: "folder" };

/** How the holder of a lease proves that it is the holder. */
const lease = {
  run: { ...run, fallback: "that of the lease" },
  session: { ...session, describe: "The session that holds it" },
  fence: { kind: "count", value: "N", describe: "The fence of the claim, when it is not in the file of the lease" },
  "token-stdin": { kind: "flag", describe: "Read the token from standard input" },
  wait: { kind: "span", describe: "How long to try while the daemon is away", fallback: "0s" },
  ...daemon,
} as const satisfies Readonly<Record<string, OptionSpec>>;
const LEASE_DETAILS =
  "`rota claim` keeps the lease in the state directory. Without that file, give --run and --fence, and the token in " +
  "ROTA_TOKEN or on standard input: it is never an argument, which others could read.";
const STOP_DETAILS =
  "Exit code 3 when the task is to be stopped, 2 when the lease is lost: either way, stop working on it.";

const SESSION_COMMANDS: readonly CommandSpec[] = [
  {
    name: "session join",
    group: "Work as an agent",
    summary: "Join as a session, and print its id",
    details:
      "A session takes tasks of its pool for which it has the capabilities, and which are of its workspace. The id is all that is printed, " +
      "so `export ROTA_SESSION=$(rota session join)` lets the other commands know it. Joining again under the same id is harmless.",
    arguments: [],
    options: {
      agent: { kind: "text", value: "NAME", describe: "What kind of agent it is", fallback: "agent" },
      pool,
      capability,
      workspace,
      channel: { kind: "text", value: "NAME", describe: "The channel it listens on" },
      id: { kind: "text", value: "ID", describe: "The id to be known by", fallback: "made up" },
      slots,
      ttl: {
        kind: "span",
        describe: "How long it keeps a task without a sign of life",
        fallback: "the setting `sessionTtl`",
      },
      ...daemon,
    },
    examples: [
      "export ROTA_SESSION=$(rota session join --pool writers)",
      "rota session join --agent claude --capability typescript --capability review --ttl 15m",
    ],
    load: () => import("../session/join.ts"),
  },
  {
    name: "session leave",
    group: "Work as an agent",
    summary: "Leave the pool",
    details:
      "Tasks that it still holds go to other sessions when their leases run out; `rota release` hands them over at once.",
    arguments: [SESSION],
    options: daemon,
    examples: ["rota session leave"],
    load: () => import("../session/leave.ts"),
  },
  {
    name: "session beat",
    group: "Work as an agent",
    summary: "Give a sign of life, and say how the session is",
    arguments: [SESSION],
    options: {
      is: {
        kind: "text",
        value: "STATE",
        describe: "`prompting` waits for a person, `busy` does something else: neither is woken",
        choices: REPORTED_STATES,
        fallback: "as before",
      },
      ...daemon,
    },
    examples: ["rota session beat --is prompting"],
    load: () => import("../session/beat.ts"),
  },
  {
    name: "session wait",
    group: "Work as an agent",
    summary: "Wait until there is something to claim",
    details:
      "Prints the task for which the session was woken; that task is kept for it for a while. `rota claim --wait` waits and claims in one step. " +
      "Exit code 3 when no task came.",
    arguments: [SESSION],
    options: { wait: { kind: "span", describe: "How long to wait", fallback: "10m" }, ...daemon },
    examples: ["rota session wait --wait 1h && rota claim"],
    load: () => import("../session/wait.ts"),
  },
];

const REPORT_COMMANDS: readonly CommandSpec[] = [
  {
    name: "start",
    group: "Work as an agent",
    summary: "Say that work on a claimed task has begun",
    details: `The first heartbeat says so too. In a pool that assigns its tasks, it accepts the assignment. ${STOP_DETAILS} ${LEASE_DETAILS}`,
    arguments: [TASK],
    options: lease,
    examples: ["rota start review"],
    load: () => import("../lease/start.ts"),
  },
  {
    name: "heartbeat",
    group: "Work as an agent",
    summary: "Keep a claimed task for longer",
    details:
      `With --every it goes on until the end of the task is reported from elsewhere, and waits for a daemon that is away as long as the lease lasts. ` +
      `${STOP_DETAILS} ${LEASE_DETAILS}`,
    arguments: [TASK],
    options: { every: { kind: "span", describe: "Renew again and again at this interval" }, ...lease },
    examples: ["rota heartbeat review", "rota heartbeat review --every 1m &"],
    load: () => import("../lease/heartbeat.ts"),
  },
  {
    name: "progress",
    group: "Work as an agent",
    summary: "Say what is being done on a claimed task",
    details: `It keeps the task for longer, as a heartbeat does. ${STOP_DETAILS} ${LEASE_DETAILS}`,
    arguments: [TASK, { name: "NOTE", describe: "What is being done, in a sentence", required: true, many: true }],
    options: lease,
    examples: ["rota progress review 'Read half of it'"],
    load: () => import("../lease/progress.ts"),
  },
  {
    name: "complete",
    group: "Work as an agent",
    summary: "Say that a claimed task is done",
    details: `It may be said again when no answer came. ${LEASE_DETAILS}`,
    arguments: [TASK],
    options: { summary: { kind: "text", value: "TEXT", describe: "What came of it" }, ...lease },
    examples: ["rota complete review --summary 'Two findings, both mended'"],
    load: () => import("../lease/complete.ts"),
  },
  {
    name: "fail",
    group: "Work as an agent",
    summary: "Say that a claimed task failed, and how",
    details: `Whether it is tried again is the scheduler's to decide, by the task's \`retry\` and the kind of failure. ${LEASE_DETAILS}`,
    arguments: [TASK],
    options: {
      kind: {
        kind: "text",
        value: "KIND",
        describe: "What kind of failure it was",
        choices: FAILURE_KINDS,
        fallback: "exit",
      },
      code: { kind: "count", value: "N", describe: "The exit code, where there was one", fallback: "1" },
      message: { kind: "text", value: "TEXT", describe: "What went wrong" },
      reset: { kind: "span", describe: "For `rate-limit`: when the limit is over, from now" },
      ...lease,
    },
    examples: ["rota fail review --message 'The tests do not pass'", "rota fail review --kind rate-limit --reset 15m"],
    load: () => import("../lease/fail.ts"),
  },
  {
    name: "release",
    group: "Work as an agent",
    summary: "Hand a claimed task back undone",
    details: `Another session gets it, and it costs none of its attempts. ${LEASE_DETAILS}`,
    arguments: [TASK],
    options: { why, ...lease },
    examples: ["rota release review --why 'Not mine to decide'"],
    load: () => import("../lease/release.ts"),
  },
];

export const AGENT_COMMANDS: readonly CommandSpec[] = [
  ...SESSION_COMMANDS,
  {
    name: "claim",
    group: "Work as an agent",
    summary: "Get a task to work on",
    details:
      "The next task of the session's pool, or the named one. Its lease is kept in a private file in the state directory, so that reports " +
      "need only its name. With --env it prints lines for a shell to `eval`: ROTA_TASK, ROTA_RUN, ROTA_FENCE, ROTA_DIRECTORY, ROTA_PREVIOUS with how " +
      "the attempt before ended, and ROTA_PROMPT or ROTA_COMMAND with what is to be done. Exit code 3 when there is nothing to claim.",
    arguments: [{ ...TASK, describe: "The id of a task; the next one when left out", required: false }],
    options: {
      session: { ...session, describe: "Who claims" },
      run: { ...run, fallback: "any; for a task that is named, the newest" },
      wait: { kind: "span", describe: "How long to wait for one; without it the answer comes at once", fallback: "0s" },
      priority: {
        kind: "text",
        value: "LEVEL",
        describe: "Only tasks of this priority or higher",
        choices: PRIORITIES,
      },
      key: { kind: "text", value: "KEY", describe: "The same key gives the same grant", fallback: "made up" },
      assigned: { kind: "flag", describe: "In a pool that assigns its tasks: what was assigned to the session" },
      env: { kind: "flag", describe: "Print lines for a shell to eval" },
      ...daemon,
    },
    examples: [
      "rota claim --wait 10m",
      "rota claim review --session s1",
      'work=$(rota claim --wait 1h --env) && eval "$work"',
    ],
    load: () => import("../lease/claim.ts"),
  },
  ...REPORT_COMMANDS,
  {
    name: "work",
    group: "Work as an agent",
    summary: "Have a command do the tasks of a pool",
    details:
      "Joins the pool as a session and claims one task after the other. The command is started in the directory of the task with its prompt on standard " +
      "input; what it prints is the summary, and a bad exit code is a failure. The lease is renewed while the command runs, and only then. When " +
      "the task is cancelled or its lease is lost, and on SIGINT or SIGTERM, the command and all of its process group are asked to end and then killed; " +
      "a task that was interrupted by a signal is handed back. A second signal kills at once. Ends when no task came within --wait.",
    arguments: [
      { name: "COMMAND", describe: "The command and its arguments, behind `--`", required: true, many: true },
    ],
    options: {
      pool,
      agent: { kind: "text", value: "NAME", describe: "What kind of agent it is", fallback: "work" },
      capability,
      workspace,
      ttl: {
        kind: "span",
        describe: "How long it keeps a task without a sign of life",
        fallback: "the setting `sessionTtl`",
      },
      wait: { kind: "span", describe: "How long to wait for a task", fallback: "10m" },
      grace: { kind: "span", describe: "How long the command has to end when it is asked to", fallback: "10s" },
      socket,
      state,
    },
    examples: [
      "rota work --pool writers -- claude -p --permission-mode acceptEdits",
      "rota work --pool writers --wait 1s -- tee prompt.txt",
    ],
    load: () => import("./work.ts"),
  },
  {
    name: "mcp",
    group: "Work as an agent",
    summary: "Serve an agent over MCP, on standard input and output",
    details:
      "Started by the agent's own client, such as `claude mcp add rota -- rota mcp --pool writers`. It talks to the daemon of the state directory, " +
      "joins it as a session when the agent first claims, and renews the leases of what the agent holds for as long as the client " +
      "is connected. Without `--agent` the agent has the name that its client gives.",
    arguments: [],
    options: {
      agent: { kind: "text", value: "NAME", describe: "What kind of agent it is", fallback: "the client's name" },
      pool,
      capability,
      workspace,
      session: { kind: "text", value: "ID", describe: "The session to be known by", fallback: "made up" },
      slots,
      scope: {
        kind: "text",
        value: "SCOPE",
        describe: "What the agent may do: `work` claims and reports, `admin` submits, cancels and pauses too",
        choices: SCOPES,
        fallback: "work",
      },
      socket,
      state,
    },
    examples: ["rota mcp --pool reviewers --capability typescript", "rota mcp --pool lead --scope admin"],
    load: () => import("./mcp.ts"),
  },
];
