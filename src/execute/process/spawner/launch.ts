/** Starts one process of an attempt, writing to the attempt's own log, and says in words why it could not. */
import { type ChildProcess, spawn } from "node:child_process";
import { accessSync, closeSync, constants, mkdirSync, openSync, statSync } from "node:fs";
import { setPriority } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import type { Command } from "../../../domain/spec.ts";

export interface LaunchOrder {
  readonly command: Command;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly log: string;
  readonly nice: number;
}

/** `spawn` does not heal by trying again; `lost` may: the machine was short of something. */
export interface LaunchFailure {
  readonly kind: "spawn" | "lost";
  readonly message: string;
}

export interface LaunchWatch {
  failed(failure: LaunchFailure): void;
  exited(code: number | null, signal: NodeJS.Signals | null): void;
}

const SHORTAGES = new Set(["EAGAIN", "ENOMEM", "EMFILE", "ENFILE", "ENOSPC", "EDQUOT", "EIO"]);

/** The process id, or nothing when `failed` was or will be told. */
export function launch(order: LaunchOrder, watch: LaunchWatch): number | undefined {
  const [file, ...args] = "shell" in order.command ? ["/bin/sh", "-c", order.command.shell] : order.command.argv;
  let log: number | undefined;
  let child: ChildProcess;
  try {
    log = openLog(order.log);
    // A group and a session of its own: signals reach all of it, and none meant for the terminal does.
    child = spawn(file, args, { cwd: order.cwd, env: order.env, stdio: ["ignore", log, log], detached: true });
  } catch (error) {
    watch.failed(log === undefined ? explainLog(order.log, error) : explain(file, order, error));
    return undefined;
  } finally {
    if (log !== undefined) closeSync(log);
  }
  child.on("error", (error) => watch.failed(explain(file, order, error)));
  child.on("exit", (code, signal) => watch.exited(code, signal));
  if (child.pid !== undefined && order.nice !== 0) makeNice(child.pid, order.nice);
  return child.pid;
}

const LOG_FLAGS = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW;

function openLog(path: string): number {
  try {
    return openSync(path, LOG_FLAGS, 0o600);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    return openSync(path, LOG_FLAGS, 0o600);
  }
}

/** A wish, not a promise: where it is refused the task runs as it is. */
function makeNice(pid: number, nice: number): void {
  try {
    setPriority(pid, nice);
  } catch {}
}

function explainLog(path: string, error: unknown): LaunchFailure {
  const code = codeOf(error);
  return { kind: SHORTAGES.has(code) ? "lost" : "spawn", message: `cannot open the log ${path}: ${code}` };
}

/** The kernel gives one code for a missing directory, command or interpreter; people need to know which. */
function explain(file: string, order: LaunchOrder, error: unknown): LaunchFailure {
  const code = codeOf(error);
  if (SHORTAGES.has(code)) return { kind: "lost", message: `cannot start ${file} now: ${code}` };
  return { kind: "spawn", message: explainDirectory(order.cwd) ?? explainCommand(file, order.cwd, code, error) };
}

function explainDirectory(cwd: string): string | undefined {
  const stat = statSync(cwd, { throwIfNoEntry: false });
  if (stat === undefined) return `the directory ${cwd} does not exist`;
  if (!stat.isDirectory()) return `${cwd} is not a directory`;
  try {
    accessSync(cwd, constants.X_OK);
    return undefined;
  } catch {
    return `the directory ${cwd} may not be entered`;
  }
}

function explainCommand(file: string, cwd: string, code: string, error: unknown): string {
  const named = file.includes("/");
  const there = named && statSync(isAbsolute(file) ? file : join(cwd, file), { throwIfNoEntry: false }) !== undefined;
  if (code === "ENOENT" && there) return `cannot run ${file}: the interpreter it names was not found`;
  if (code === "ENOENT") return `command not found: ${file}`;
  if (code === "EACCES") return `not executable: ${file}`;
  if (code === "E2BIG") return `cannot run ${file}: its arguments and environment are too long`;
  return `cannot run ${file}: ${error instanceof Error ? error.message : code}`;
}

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? "unknown";
