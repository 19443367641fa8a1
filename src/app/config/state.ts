/** The places inside a state directory, and which directory that is. */
import { accessSync, constants, existsSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve, sep } from "node:path";
import { UserError } from "../../domain/errors.ts";
import type { RunId, TaskId } from "../../domain/ids.ts";
import { unusable } from "../../domain/told.ts";
import { makeFolders } from "../../effects/folders.ts";
import { nearest, projectOf } from "./project.ts";

const FOLDER = ".rota";

export interface StateDir {
  readonly root: string;
  readonly database: string;
  /** Touched to notify the scheduler of a request. */
  readonly bell: string;
  /** A folder for each run, in it one for each task, and in that one for each attempt. */
  readonly runs: string;
  log(run: RunId, task: TaskId, attempt: number): string;
}

export function stateDir(root: string): StateDir {
  const runs = join(root, "runs");
  return {
    root,
    database: join(root, "rota.db"),
    bell: join(root, "bell"),
    runs,
    // The names contain nothing that `join` would have to normalise.
    log: (run, task, attempt) => `${runs}${sep}${run}${sep}${task}${sep}${attempt}${sep}log`,
  };
}

interface Where {
  readonly flag: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
}

/** The directory that the user named: the option, else the variable. An empty variable does not count. */
export function askedState({ flag, env }: Pick<Where, "flag" | "env">): string | undefined {
  return flag ?? (env["ROTA_STATE"] === "" ? undefined : env["ROTA_STATE"]);
}

/** For a command that has a plan: the named directory, else that of the plan's project, else `.rota` beside the plan. */
export function stateOfPlan(where: Where, planFile: string): StateDir {
  return stateFrom(where, (folder) => join(folder, FOLDER), dirname(planFile));
}

/** For a command without a plan: the named directory, else that of this project, else the nearest `.rota` upwards, else a new one here. */
export function stateHere(where: Where): StateDir {
  return stateFrom(where, (folder) => join(nearest(folder, [FOLDER]) ?? folder, FOLDER), where.cwd);
}

/** For a plan that goes to a daemon: the directory of the plan's project, or without a project, that of the current directory. */
export function stateToSubmit(where: Where, planFile: string): StateDir {
  return projectOf(dirname(planFile)) === undefined ? stateHere(where) : stateOfPlan(where, planFile);
}

function stateFrom(where: Where, otherwise: (folder: string) => string, folder: string): StateDir {
  const asked = askedState(where);
  if (asked !== undefined) return stateDir(resolve(where.cwd, asked));
  const project = projectOf(folder);
  return stateDir(project === undefined ? otherwise(folder) : join(project, FOLDER));
}

/** For a command that only reads. */
export function existingState(where: Where): StateDir {
  const state = stateHere(where);
  if (isThere(state)) return state;
  throw new UserError("STATE_MISSING", `There are no runs yet in ${state.root}`);
}

/** A directory that cannot be read is different from an empty one. */
function isThere({ root, database }: StateDir): boolean {
  try {
    statSync(database);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw new UserError("STATE_UNUSABLE", `${root}: ${(error as Error).message}`, { cause: error });
  }
}

/** Private, because logs and plans may hold secrets. A directory that Rota makes ignores itself, so that no git checkout takes it in. */
export function makeStateDir({ root }: StateDir): void {
  try {
    const isNew = makeFolders(root);
    // On a read-only disk, making a folder in it would report that there is none.
    accessSync(root, constants.W_OK);
    if (isNew || basename(root) === FOLDER) ignoreItself(root);
  } catch (error) {
    throw unusable(`${root} cannot be used`, error);
  }
}

function ignoreItself(root: string): void {
  const file = join(root, ".gitignore");
  if (!existsSync(file)) writeFileSync(file, "*\n");
}
