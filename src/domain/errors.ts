/** Everything a user can get wrong and put right: a stable code, the exit code, and what to do next. Docs are made from this table. */
export const USER_ERRORS = {
  USAGE: { exitCode: 2, hint: "Run `rota help` to see the commands and their options." },
  PLAN_UNREADABLE: { exitCode: 2, hint: "Check the path, and that you may read the file." },
  PLAN_INVALID: { exitCode: 2, hint: "Mend what is listed above; `rota check PLAN` shows it again." },
  CONFIG_INVALID: { exitCode: 2, hint: "`rota config show` prints every value and where it comes from." },
  STATE_BUSY: { exitCode: 2, hint: "Wait for it to end, or give this one a directory of its own with --state DIR." },
  STATE_UNUSABLE: { exitCode: 2, hint: "Check that the directory exists, is yours, and that the disk has room." },
  STATE_MISSING: { exitCode: 2, hint: "Start with `rota run PLAN`, or name the directory with --state DIR." },
  STORE_NEWER: { exitCode: 2, hint: "This state was written by a newer Rota: upgrade, or use another --state DIR." },
  STORE_CORRUPT: { exitCode: 2, hint: "`rota doctor` says what is damaged. Nothing was changed." },
  STORE_FAILED: {
    exitCode: 2,
    hint: "Nothing that was not saved was reported. Mend the disk, then go on with --resume.",
  },
  SQLITE_OLD: { exitCode: 2, hint: "Use a Node release whose SQLite is at least 3.51.3 (Node 24 or newer)." },
  NODE_OLD: { exitCode: 2, hint: "Use Node 24 or newer; in a clone, `npm ci` brings it." },
  RUN_UNKNOWN: { exitCode: 2, hint: "`rota status --all` lists the runs." },
  TASK_UNKNOWN: { exitCode: 2, hint: "`rota status` lists the tasks of the run." },
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
  LOG_MISSING: { exitCode: 2, hint: "A task has a log once an attempt of it has started." },
  FILE_EXISTS: { exitCode: 2, hint: "Choose another name, or remove the file first." },
} as const satisfies Record<string, { exitCode: number; hint: string }>;

export type UserErrorCode = keyof typeof USER_ERRORS;

/** Something the user can put right. Printed as `CODE: message (hint)`; a stack trace would only be in the way. */
export class UserError extends Error {
  override readonly name = "UserError";
  readonly code: UserErrorCode;
  readonly hint: string;

  constructor(code: UserErrorCode, message: string, options: { hint?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.hint = options.hint ?? USER_ERRORS[code].hint;
  }

  get exitCode(): number {
    return USER_ERRORS[this.code].exitCode;
  }
}
