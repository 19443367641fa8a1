/** Says in words why a process could not be started, and whether another try may help. */
import { accessSync, constants, statSync } from "node:fs";
import { isAbsolute, join } from "node:path";

/** `spawn` does not heal by trying again; the others may. */
export interface LaunchFailure {
  readonly kind: "spawn" | "shortage" | "lost";
  readonly message: string;
}

const SHORTAGES = new Set(["EAGAIN", "ENOMEM", "EMFILE", "ENFILE", "ENOSPC", "EDQUOT", "EIO"]);

export const explainLog = (path: string, code: string): LaunchFailure => ({
  kind: SHORTAGES.has(code) ? "shortage" : "spawn",
  message: `cannot open the log ${path}: ${code}`,
});

/** The kernel gives one code for a missing directory, command or interpreter; people need to know which. */
export function explainStart(file: string, cwd: string, code: string, message?: string): LaunchFailure {
  if (SHORTAGES.has(code)) return { kind: "shortage", message: `cannot start ${file} now: ${code}` };
  return { kind: "spawn", message: explainDirectory(cwd) ?? explainCommand(file, cwd, code, message) };
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

function explainCommand(file: string, cwd: string, code: string, message = code): string {
  const named = file.includes("/");
  const there = named && statSync(isAbsolute(file) ? file : join(cwd, file), { throwIfNoEntry: false }) !== undefined;
  if (code === "ENOENT" && there) return `cannot run ${file}: the interpreter it names was not found`;
  if (code === "ENOENT") return `command not found: ${file}`;
  if (code === "EACCES") return `not executable: ${file}`;
  if (code === "E2BIG") return `cannot run ${file}: its arguments and environment are too long`;
  return `cannot run ${file}: ${message}`;
}
