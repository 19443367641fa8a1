/** Says in words why a process cannot be started, and whether another try may help. */
import { accessSync, closeSync, constants, openSync, readSync, type Stats, statSync } from "node:fs";
import { isAbsolute, join } from "node:path";

/** `spawn` does not heal by trying again; the other may. */
export interface StartFailure {
  readonly kind: "spawn" | "shortage";
  readonly message: string;
}

const SHORTAGES = new Set(["EAGAIN", "ENOMEM", "EMFILE", "ENFILE", "ENOSPC", "EDQUOT", "EIO"]);

export const explainFile = (what: string, path: string, code: string): StartFailure => ({
  kind: SHORTAGES.has(code) ? "shortage" : "spawn",
  message: `cannot open ${what} ${path}: ${code}`,
});

/** The kernel takes no longer word and no longer variable. */
const WORD_MAX = 128 * 1024;

/** Found before a shell is asked, which would only give a number for it. Nothing where it can be started. */
export function explainStart(
  argv: readonly [string, ...string[]],
  cwd: string,
  env: Readonly<Record<string, string | undefined>>,
): StartFailure | undefined {
  const message =
    explainWords(argv, env) ?? explainDirectory(cwd) ?? explainCommand(argv[0], cwd, env.PATH ?? PATH_USUAL);
  return message === undefined ? undefined : { kind: "spawn", message };
}

/** Where a command is looked for that has no PATH. */
const PATH_USUAL = "/bin:/usr/bin";

function explainWords(
  [file, ...args]: readonly [string, ...string[]],
  env: Readonly<Record<string, string | undefined>>,
) {
  for (const words of [[file], args, Object.keys(env), Object.values(env)]) {
    for (const word of words) {
      if (word === undefined) continue;
      if (word.includes("\0"))
        return `cannot run ${file.replaceAll("\0", "")}: its words and variables must be without NUL`;
      if (word.length >= WORD_MAX / 4 && Buffer.byteLength(word) >= WORD_MAX) {
        return `cannot run ${file}: its arguments and environment are too long`;
      }
    }
  }
  return undefined;
}

export function explainDirectory(cwd: string): string | undefined {
  const stat = statOf(cwd);
  if (stat === undefined) return `the directory ${cwd} does not exist`;
  if (!stat.isDirectory()) return `${cwd} is not a directory`;
  return isExecutable(cwd) ? undefined : `the directory ${cwd} may not be entered`;
}

function explainCommand(file: string, cwd: string, path: string): string | undefined {
  const candidates = file.includes("/") ? [file] : path.split(":").map((folder) => join(folder, file));
  let isThere = false;
  for (const candidate of candidates) {
    const full = isAbsolute(candidate) ? candidate : join(cwd, candidate);
    if (statOf(full)?.isFile() !== true) continue;
    isThere = true;
    if (!isExecutable(full)) continue;
    const interpreter = interpreterOf(full);
    if (interpreter === undefined || isExecutable(interpreter)) return undefined;
    return `cannot run ${file}: the interpreter it names was not found`;
  }
  return isThere ? `not executable: ${file}` : `command not found: ${file}`;
}

/** Nothing, too, where a folder on the way may not be entered, as those of other users in a PATH. */
function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

const FIRST_LINE_MAX = 256;

/** The program that a script names in its first line. */
function interpreterOf(path: string): string | undefined {
  let file: number | undefined;
  try {
    file = openSync(path, "r");
    const start = Buffer.allocUnsafe(FIRST_LINE_MAX);
    const text = start.toString("utf8", 0, readSync(file, start, 0, FIRST_LINE_MAX, 0));
    return /^#!\s*(\/\S+)\s/.exec(text)?.[1];
  } catch {
    return undefined;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}
