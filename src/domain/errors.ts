/** Everything a user can get wrong and put right: a stable code, the exit code, and what to do next. Docs are made from this table. */
export const USER_ERRORS = {
  USAGE: { exitCode: 2, hint: "Run `rota help` to see the commands and their options." },
  PLAN_UNREADABLE: { exitCode: 2, hint: "Check the path, and that you may read the file." },
  PLAN_INVALID: { exitCode: 2, hint: "Correct the lines above; `rota check PLAN` shows each one with its place." },
  CONFIG_INVALID: { exitCode: 2, hint: "`rota config schema` says what every setting may be." },
  STATE_BUSY: { exitCode: 2, hint: "Wait for it to end, or give this one a directory of its own with --state DIR." },
  STATE_UNUSABLE: { exitCode: 2, hint: "Check that the directory exists, is yours, and that the disk has room." },
  STATE_MISSING: { exitCode: 2, hint: "Start with `rota run PLAN`, or name the directory with --state DIR." },
  STORE_NEWER: { exitCode: 2, hint: "This state was written by a newer Rota: upgrade, or use another --state DIR." },
  STORE_FOREIGN: {
    exitCode: 2,
    hint: "Move it away, or use another directory with --state DIR: what the former version wrote, only that version reads.",
  },
  STORE_CORRUPT: { exitCode: 2, hint: "`rota doctor` says what is damaged. Nothing was changed." },
  STORE_FAILED: {
    exitCode: 2,
    hint: "Every result that was reported is saved. Repair the disk or free some space, then go on with --resume.",
  },
  MACHINE_SHORT: {
    exitCode: 2,
    hint: "Raise the limit (`ulimit -n` of open files, `ulimit -u` of processes), or let other programs end first.",
  },
  SQLITE_OLD: { exitCode: 2, hint: "Use a Node release whose SQLite is at least 3.51.3 (Node 24 or newer)." },
  NODE_OLD: {
    exitCode: 2,
    hint: "Install Node 24 or newer from https://nodejs.org. In a clone, `npm ci` brings it for `bin/rota`.",
  },
  RUN_UNKNOWN: { exitCode: 2, hint: "`rota status --all` lists the runs." },
  TASK_UNKNOWN: { exitCode: 2, hint: "`rota status` lists the tasks of the run." },
  POOL_UNKNOWN: {
    exitCode: 2,
    hint: "`rota workers` lists the sessions with their pools, and `rota why TASK` names a task's.",
  },
  RUN_CHANGED: { exitCode: 2, hint: "Go on with the plan as it was, or start anew without --resume." },
  RUN_ACTIVE: { exitCode: 2, hint: "Wait for the run to end, or `rota cancel` it first." },
  NOTHING_TO_RETRY: { exitCode: 2, hint: "Only failed, cancelled, skipped and parked tasks can be tried again." },
  CANNOT_CANCEL: { exitCode: 2, hint: "It has already ended; `rota status` shows how." },
  CANNOT_APPROVE: {
    exitCode: 2,
    hint: "Only a task with a gate that is still closed can be approved; `rota why TASK` shows it.",
  },
  CANNOT_REQUEUE: { exitCode: 2, hint: "Only a parked task can be put back; `rota retry` tries failed ones again." },
  QUEUE_FULL: { exitCode: 2, hint: "Nothing was admitted. Wait until the queue is shorter, or submit less at once." },
  DURATIONS_INVALID: { exitCode: 2, hint: 'Write a JSON object of task ids and milliseconds: {"build": 1200}.' },
  MANIFEST_INVALID: {
    exitCode: 2,
    hint: "Give it a file that `rota run PLAN --manifest FILE` has written, or the answer of GET /v1/runs/RUN/manifest.",
  },
  MANIFEST_TOO_LARGE: {
    exitCode: 2,
    hint: "Once no daemon schedules it, `rota run PLAN --resume --manifest FILE` writes it to a file.",
  },
  LOG_MISSING: { exitCode: 2, hint: "A task has a log once an attempt of it has started." },
  DAEMON_MISSING: { exitCode: 2, hint: "Start one with `rota serve`, or name its directory with --state DIR." },
  DAEMON_STOPPING: { exitCode: 2, hint: "Ask again when it is back; what was answered before is kept." },
  DAEMON_FAILED: { exitCode: 70, hint: "This is a fault of Rota itself; the daemon's own output says more." },
  REQUEST_INVALID: { exitCode: 2, hint: "`rota schema openapi` says what each call takes." },
  REQUEST_TOO_LARGE: { exitCode: 2, hint: "Send less at once: a plan may have 64 MiB, anything else 1 MiB." },
  REQUEST_SLOW: { exitCode: 2, hint: "Send the whole request at once." },
  NOT_JSON: { exitCode: 2, hint: "Send JSON, with the header `content-type: application/json`." },
  ROUTE_UNKNOWN: { exitCode: 2, hint: "`rota schema openapi` lists every call." },
  METHOD_REFUSED: { exitCode: 2, hint: "The header `allow` of the answer says which methods there are." },
  UNAUTHORIZED: {
    exitCode: 2,
    hint: "Send the header `authorization: Bearer TOKEN`; the owner finds one in the file `token` of the state directory.",
  },
  FORBIDDEN: { exitCode: 2, hint: "Ask the owner of the daemon for a token that allows it." },
  ORIGIN_REFUSED: { exitCode: 2, hint: "Call the daemon by the address it listens on, and not from a web page." },
  LOCKED_OUT: { exitCode: 2, hint: "There were too many wrong tokens. Wait a minute." },
  TOKEN_UNKNOWN: { exitCode: 2, hint: "`rota token list` shows them." },
  TOKEN_EXPOSED: { exitCode: 2, hint: "Others could read it. Remove the file; a new token is made." },
  TOKENS_MANY: { exitCode: 2, hint: "Revoke some that are not used any more." },
  LISTEN_REFUSED: { exitCode: 2, hint: "Give an address of this machine, such as --listen 127.0.0.1:7777." },
  RUN_ENDED: { exitCode: 2, hint: "`rota retry` makes a new run of what did not succeed." },
  SESSION_UNKNOWN: {
    exitCode: 2,
    hint: "Join first, or again: `rota session join`. `rota workers` lists who is there.",
  },
  SESSION_QUARANTINED: { exitCode: 2, hint: "It lost too many leases in a row. Find out why, then join again." },
  SELF_CLAIM_DISABLED: { exitCode: 2, hint: "This pool assigns its work: wait for an assignment instead." },
  SLOTS_TAKEN: { exitCode: 2, hint: "Complete, fail or release what the session holds, then claim again." },
  NOT_CLAIMABLE: { exitCode: 2, hint: "`rota why TASK` says what it waits for." },
  LEASE_LOST: { exitCode: 2, hint: "Stop working on it: another worker may have it by now. Nothing was changed." },
  LEASE_UNKNOWN: {
    exitCode: 2,
    hint: "Claim it with `rota claim`, or give --run, --fence and the token in ROTA_TOKEN.",
  },
  TOKEN_WRONG: { exitCode: 2, hint: "Use the token that came with the claim, and the API token that claimed." },
  CANNOT_EDIT: {
    exitCode: 2,
    hint: "Only a task that waits or is parked can be changed; `rota why TASK` shows its state.",
  },
  NOT_PAUSED: { exitCode: 2, hint: "`rota workers` and `rota status` show what is on hold." },
  FILE_EXISTS: { exitCode: 2, hint: "Choose another name, or remove the file first." },
} as const satisfies Record<string, { exitCode: number; hint: string }>;

/** The stable code of a `UserError`. */
export type UserErrorCode = keyof typeof USER_ERRORS;

/** Something the user can put right. Printed as `CODE: message (hint)`; a stack trace would only be in the way. */
export class UserError extends Error {
  override readonly name = "UserError";
  readonly code: UserErrorCode;
  readonly hint: string;
  /** For a plan that is not valid: everything that is wrong with it, as `rota check --json` prints it. */
  readonly diagnostics?: readonly object[];

  constructor(
    code: UserErrorCode,
    message: string,
    options: { hint?: string; cause?: unknown; diagnostics?: readonly object[] } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.hint = options.hint ?? USER_ERRORS[code].hint;
    if (options.diagnostics !== undefined) this.diagnostics = options.diagnostics;
  }

  get exitCode(): number {
    return USER_ERRORS[this.code].exitCode;
  }
}
