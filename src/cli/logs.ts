/** `rota logs TASK`: what an attempt printed, from its log file; with `-f` as it grows, until the attempt has ended. */
import { type FileHandle, open } from "node:fs/promises";
import { dirname } from "node:path";
import { findRun, loadRun, mustFindTask, openReader, type Reader } from "../app/reader.ts";
import { changes } from "../app/watch.ts";
import { UserError } from "../domain/errors.ts";
import { type Event, isTaskEvent } from "../domain/event.ts";
import type { Run as RunState } from "../domain/run.ts";
import { isHeld, type Task } from "../domain/task.ts";
import type { Input, Run } from "./command.ts";
import { LineCleaner, readOn, tailStart } from "./log-bytes.ts";
import type { Terminal } from "./terminal.ts";

export const run: Run = async (input, { terminal, env, cwd }) => {
  await using reader = openReader({ flag: input.text("state"), env, cwd });
  const seen = await reader.store.lastSeq();
  const found = await loadRun(reader, await findRun(reader, input.text("run")));
  const task = mustFindTask(found, input.arguments[0] as string);
  const attempt = attemptAsked(input, found, task);
  const file = reader.state.log(found.manifest.id, task.spec.id, attempt);
  const isLive = isHeld(task.status) && task.attempt === attempt;
  const follow = input.flag("follow") && isLive;
  const log = await openLog(file, task, attempt, reader, follow, terminal.gone);
  try {
    const tail = input.count("tail");
    const from = tail === undefined ? 0 : await tailStart(log, tail);
    const show = showOn(terminal);
    const end = await readOn(log, from, show.take);
    if (follow)
      await goOn({
        log,
        file,
        from: end,
        take: show.take,
        over: overWatch(reader, found, task, attempt, seen),
        terminal,
      });
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

/** An attempt that was claimed a moment ago may not have begun to write. */
async function openLog(
  file: string,
  task: Task,
  attempt: number,
  reader: Reader,
  wait: boolean,
  signal: AbortSignal,
): Promise<FileHandle> {
  for await (const _ of changes(wait ? [reader.state.root, dirname(file)] : [], { signal })) {
    try {
      return await open(file, "r");
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code !== "ENOENT") throw new UserError("LOG_MISSING", `${file} cannot be read: ${message}`, { cause: error });
      if (!wait || (await reader.scheduler()) === undefined) break;
    }
  }
  throw new UserError("LOG_MISSING", `Attempt ${attempt} of ${task.spec.id} left no log`);
}

interface Show {
  readonly take: (bytes: Uint8Array) => Promise<void>;
  readonly end: () => Promise<void>;
}

/** For a person every line is made harmless; for a program every byte stays what it is. Neither may fill the memory. */
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
  /** Whether the attempt has ended: then every byte of it is there. */
  readonly over: () => Promise<"ended" | "abandoned" | "going">;
  readonly terminal: Terminal;
}

async function goOn({ log, file, from, take, over, terminal }: Following): Promise<void> {
  let at = from;
  for await (const _ of changes([file, dirname(dirname(dirname(file)))], { signal: terminal.gone })) {
    // Asked before the bytes are read: what is written before the end is then read after it.
    const state = await over();
    at = await readOn(log, at, take);
    if (state === "abandoned") terminal.err("The scheduler is gone, and nobody recorded how this attempt ended.\n");
    if (state !== "going") return;
  }
}

/** What takes a task out of the hands of its holder. */
const ENDS: ReadonlySet<Event["kind"]> = new Set([
  "succeeded",
  "failed",
  "retried",
  "expired",
  "released",
  "parked",
  "cancelled",
]);

/** Follows the ledger from `seen` on for the end of the attempt. */
function overWatch(reader: Reader, run: RunState, task: Task, attempt: number, seen: number): Following["over"] {
  let after = seen;
  return async () => {
    const lives = (await reader.scheduler()) !== undefined;
    const events = await reader.store.events({ run: run.no, task: task.no, after });
    after = events.at(-1)?.seq ?? after;
    const ended = events.some(
      (event) => isTaskEvent(event) && (event.attempt > attempt || (event.attempt === attempt && ENDS.has(event.kind))),
    );
    if (ended) return "ended";
    return lives ? "going" : "abandoned";
  };
}
