/** The directory of one attempt, by which a scheduler and what it started agree about it although either may die at any moment. */
import { closeSync, existsSync, openSync, readFileSync, rmSync, statSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { ProcessIdentity } from "../../domain/task.ts";
import { makeFolders } from "../../effects/folders.ts";
import type { Attempt } from "../executor.ts";
import { LOG_FLAGS } from "./log.ts";

export type Named = Pick<Attempt, "run" | "task" | "fence" | "verification">;

/** `STATE/runs/RUN/TASK/FENCE`; each run of the acceptance command has one of its own. Ids hold nothing that a path could misread. */
export function attemptDirectory(stateDir: string, { run, task, fence, verification }: Named): string {
  const name = verification === undefined ? String(fence) : `${fence}.verify-${verification}`;
  return join(stateDir, "runs", run, task, name);
}

/** Makes the directory and opens the log, so that the attempt's own process only has to append. What the system says is thrown. */
export function prepareDirectory(directory: string, log: string): void {
  const isNew = makeFolders(directory);
  // The numbers of attempts come again where a store was put back from a copy. Their logs are gone on with.
  if (!isNew) for (const name of ["begun", "outcome", "stopped"]) rmSync(join(directory, name), { force: true });
  closeSync(openLog(log));
}

function openLog(path: string): number {
  try {
    return openSync(path, LOG_FLAGS, 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    makeFolders(join(path, ".."));
    return openSync(path, LOG_FLAGS, 0o600);
  }
}

/** What a scheduler writes into the file `begun` if it takes the file before the attempt does. */
const VOID = "void\n";

/** What is known of how far an attempt came. */
export type Begun =
  /** It never began, and from now on it never will. */
  | { readonly kind: "void" }
  /** Its process has taken `begun`, and not said yet which one it is. */
  | { readonly kind: "unsaid" }
  | { readonly kind: "begun"; readonly process: ProcessIdentity; readonly atMs: number };

/** Sees to it that an attempt which has not begun yet never does. */
export function takeBegun(directory: string): Begun {
  const file = join(directory, "begun");
  if (!existsSync(directory)) return { kind: "void" };
  try {
    const taken = openSync(file, "wx", 0o600);
    writeSync(taken, VOID);
    closeSync(taken);
    return { kind: "void" };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  const text = textOf(file);
  if (text === VOID) return { kind: "void" };
  const process = text === undefined ? undefined : parseIdentity(text);
  return process === undefined ? { kind: "unsaid" } : { kind: "begun", process, atMs: statSync(file).mtimeMs };
}

/** `BOOT PID STARTED`, whole only with its line end. */
export function parseIdentity(text: string): ProcessIdentity | undefined {
  const match = /^(\S+) ([1-9]\d{0,9}) (\S[^\n]*)\n/.exec(text);
  if (match === null) return undefined;
  const [, bootId, pid, startTime] = match as unknown as [string, string, string, string];
  return { pid: Number(pid), startTime: startTime.trim(), bootId };
}

/** How an attempt's process ended, as its wrapper wrote it down. */
export interface Written {
  readonly status: number;
  readonly atMs: number;
  /** What the processes had used that the wrapper had waited for by then, the attempt included. */
  readonly cpuMs?: number;
}

export function readOutcome(directory: string): Written | undefined {
  const file = join(directory, "outcome");
  const text = textOf(file);
  const parsed = text === undefined ? undefined : parseOutcome(text);
  return parsed && { ...parsed, atMs: statSync(file).mtimeMs };
}

/** One line with the exit code, which counts only with its line end; what `times` says follows. */
export function parseOutcome(text: string): Omit<Written, "atMs"> | undefined {
  const match = /^(\d{1,3})\n/.exec(text);
  if (match === null) return undefined;
  const cpuMs = parseTimes(text.slice(match[0].length));
  return { status: Number(match[1]), ...(cpuMs !== undefined && { cpuMs }) };
}

/** Said before it is ended with its scheduler: if the store cannot save that, the next scheduler does not take it for the task's own end. */
export function markShutdown(directory: string): void {
  try {
    writeFileSync(join(directory, "stopped"), SHUTDOWN);
  } catch {
    // Where nothing can be written, the attempt ends all the same.
  }
}

/** What has ended the attempt: its own scheduler, or a watchdog because no scheduler came. */
export function stoppedBy(directory: string): "shutdown" | "orphaned" | undefined {
  const text = textOf(join(directory, "stopped"));
  return text === undefined ? undefined : text === SHUTDOWN ? "shutdown" : "orphaned";
}
const SHUTDOWN = "shutdown\n";

/** From the two lines of `times`: what the shell itself used, then what it waited for; user time and system time. */
export function parseTimes(text: string): number | undefined {
  const match = /^.*\n(\d+)m(\d+)[.,](\d{1,9})s (\d+)m(\d+)[.,](\d{1,9})s\n/.exec(text);
  if (match === null) return undefined;
  const ms = (at: number): number =>
    Number(match[at]) * 60_000 + Number(match[at + 1]) * 1_000 + Number(`0.${match[at + 2]}`) * 1_000;
  return Math.round(ms(1) + ms(4));
}

export function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
