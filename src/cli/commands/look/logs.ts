/** `rota logs TASK`: the output of an attempt, from its log file; with `-f` as it grows, until the attempt has ended. */
import { type FileHandle, open, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { findRun, loadRun, mustFindTask, openReader, type Reader } from "../../../app/look/reader.ts";
import { changes } from "../../../app/look/watch.ts";
import { POLL_INTERVAL } from "../../../app/poll.ts";
import { UserError } from "../../../domain/errors.ts";
import { isAttemptEnd, isTaskEvent } from "../../../domain/event.ts";
import type { Run as RunState } from "../../../domain/run.ts";
import { isHeld, type Task } from "../../../domain/task.ts";
import type { Millis } from "../../../domain/time.ts";
import type { Input, Run } from "../../frame/command.ts";
import { pollInterval } from "../../frame/poll.ts";
import type { Terminal } from "../../frame/terminal.ts";
import { LineCleaner, readOn, tailStart } from "./log-bytes.ts";
import { sayUnrecovered } from "./unrecovered.ts";

export const run: Run = async (input, context) => {
  const { terminal, env, cwd } = context;
  await using reader = openReader({ flag: input.text("state"), env, cwd });
  await sayUnrecovered(reader, input, context);
  const seen = await reader.store.lastSeq();
  const found = await loadRun(reader, await findRun(reader, input.text("run")));
  const task = mustFindTask(found, input.arguments[0] as string);
  const attempt = attemptAsked(input, found, task);
  const file = reader.state.log(found.manifest.id, task.spec.id, attempt);
  const isLive = isHeld(task.status) && task.attempt === attempt;
  const follow = input.flag("follow") && isLive;
  const over = overWatch(reader, found, task, attempt, seen);
  const pollEvery = follow ? await pollInterval(context) : POLL_INTERVAL;
  const log = await openLog({ file, task, attempt, reader, wait: follow, pollEvery, over, signal: terminal.gone });
  if (log === undefined) return 0;
  try {
    const tail = input.count("tail");
    const from = tail === undefined ? 0 : await tailStart(log, tail);
    const show = showOn(terminal);
    const take = isLive ? ownBytes(file, log, show.take) : show.take;
    const end = await readOn(log, from, take);
    if (follow) await goOn({ log, file, from: end, take, over, terminal, pollEvery });
    await show.end();
  } finally {
    await log.close();
  }
  return 0;
};

function attemptAsked(input: Input, { manifest }: RunState, task: Task): number {
  const attempt = input.count("attempt") ?? task.attempt;
  const { id } = task.spec;
  if (task.attempt === 0)
    throw new UserError("LOG_MISSING", `Task ${id} of ${manifest.id} has not started: it is ${task.status.state}`);
  if (attempt < 1 || attempt > task.attempt) {
    const known = task.attempt === 1 ? "only attempt 1" : `attempts 1 to ${task.attempt}`;
    throw new UserError("LOG_MISSING", `Task ${id} of ${manifest.id} has ${known}, not ${attempt}`);
  }
  return attempt;
}

interface Opening {
  readonly file: string;
  readonly task: Task;
  readonly attempt: number;
  readonly reader: Reader;
  /** An attempt that was claimed a moment ago may not have written anything yet. */
  readonly wait: boolean;
  readonly pollEvery: Millis;
  readonly over: Following["over"];
  readonly signal: AbortSignal;
}

/** Nothing without a log: a success without output need not leave an empty file. */
async function openLog(opening: Opening): Promise<FileHandle | undefined> {
  const { file, task, attempt, reader, wait, pollEvery, over, signal } = opening;
  let state: Awaited<ReturnType<Following["over"]>> | undefined;
  for await (const _ of changes(wait ? [reader.state.root, dirname(file)] : [], { signal, pollEvery })) {
    try {
      return await open(file, "r");
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code !== "ENOENT") throw new UserError("LOG_MISSING", `${file} cannot be read: ${message}`, { cause: error });
    }
    // Looked for once more after the end: only then is it certain that there is none.
    if (!wait || (state !== undefined && state !== "going")) break;
    state = await over();
  }
  if (state === "ended" || (task.status.state === "succeeded" && task.attempt === attempt)) return undefined;
  throw new UserError("LOG_MISSING", `Attempt ${attempt} of ${task.spec.id} left no log`);
}

/**
 * Lets through only the output of this attempt. An empty log is used again for another attempt: the bytes belong to this
 * one if the file still has its name after the read.
 */
const ownBytes =
  (file: string, log: FileHandle, take: Show["take"]): Show["take"] =>
  async (bytes) => {
    const [named, opened] = await Promise.all([stat(file).catch(() => undefined), log.stat()]);
    if (named?.ino === opened.ino) await take(bytes);
  };

interface Show {
  readonly take: (bytes: Uint8Array) => Promise<void>;
  readonly end: () => Promise<void>;
}

/** For a person every line is made harmless; for a program every byte stays. Neither may fill the memory. */
function showOn(terminal: Terminal): Show {
  if (!terminal.interactive) {
    const take = async (bytes: Uint8Array): Promise<void> => {
      terminal.out(bytes);
      await terminal.flush();
    };
    return { take, end: () => terminal.flush() };
  }
  const cleaner = new LineCleaner();
  return {
    async take(bytes) {
      terminal.out(cleaner.take(bytes));
      await terminal.flush();
    },
    end: async () => terminal.out(cleaner.end()),
  };
}

interface Following {
  readonly log: FileHandle;
  readonly file: string;
  readonly from: number;
  readonly take: Show["take"];
  /** Whether the attempt has ended: then all its output is in the file. */
  readonly over: () => Promise<"ended" | "abandoned" | "going">;
  readonly terminal: Terminal;
  readonly pollEvery: Millis;
}

async function goOn({ log, file, from, take, over, terminal, pollEvery }: Following): Promise<void> {
  let at = from;
  for await (const _ of changes([file, dirname(dirname(dirname(file)))], { signal: terminal.gone, pollEvery })) {
    // Checked before the read: then the read includes everything that was written before the end.
    const state = await over();
    at = await readOn(log, at, take);
    if (state === "abandoned")
      terminal.err("The scheduler is gone, and no scheduler recorded how this attempt ended.\n");
    if (state !== "going") return;
  }
}

/** Follows the ledger from `seen` on until the attempt has ended. */
function overWatch(reader: Reader, run: RunState, task: Task, attempt: number, seen: number): Following["over"] {
  let after = seen;
  let ended = false;
  return async () => {
    const lives = (await reader.scheduler()) !== undefined;
    const events = await reader.store.events({ run: run.no, task: task.no, after });
    after = events.at(-1)?.seq ?? after;
    ended ||= events.some(
      (event) =>
        isTaskEvent(event) && (event.attempt > attempt || (event.attempt === attempt && isAttemptEnd(event.kind))),
    );
    if (ended) return "ended";
    return lives ? "going" : "abandoned";
  };
}
