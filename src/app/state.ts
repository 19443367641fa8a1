/** Where things are inside a state directory, and which directory that is. */
import { existsSync, mkdirSync, statSync } from "node:fs";
import { dirname, join, resolve, sep } from "node:path";
import { UserError } from "../domain/errors.ts";
import type { RunId, TaskId } from "../domain/ids.ts";

const FOLDER = ".rota";

export interface StateDir {
  readonly root: string;
  readonly database: string;
  /** Touched to tell the scheduler that there is a request. */
  readonly bell: string;
  /** A folder for each run. */
  readonly logs: string;
  log(run: RunId, task: TaskId, attempt: number): string;
}

export function stateDir(root: string): StateDir {
  const logs = join(root, "logs");
  return {
    root,
    database: join(root, "rota.db"),
    bell: join(root, "bell"),
    logs,
    // Names hold nothing that would have to be made plain.
    log: (run, task, attempt) => `${logs}${sep}${run}${sep}${task}.${attempt}.log`,
  };
}

interface Where {
  readonly flag: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
}

/** What was asked for: the option, else the variable. One that is empty is as good as none. */
export function askedState({ flag, env }: Pick<Where, "flag" | "env">): string | undefined {
  return flag ?? (env["ROTA_STATE"] === "" ? undefined : env["ROTA_STATE"]);
}

/** For a plan: what was asked for, else `.rota` beside the plan. */
export function stateOfPlan(where: Where, planFile: string): StateDir {
  const asked = askedState(where);
  return stateDir(asked === undefined ? join(dirname(planFile), FOLDER) : resolve(where.cwd, asked));
}

/** For a daemon: what was asked for, else the nearest `.rota` from here upwards, else a new one here. */
export function stateToServe(where: Where): StateDir {
  const { cwd } = where;
  const asked = askedState(where);
  return stateDir(asked === undefined ? (nearest(cwd) ?? join(cwd, FOLDER)) : resolve(cwd, asked));
}

/** For a look at what is there: what was asked for, else the nearest `.rota` from here upwards. */
export function existingState(where: Where): StateDir {
  const { cwd } = where;
  const asked = askedState(where);
  const found = asked === undefined ? nearest(cwd) : resolve(cwd, asked);
  if (found === undefined)
    throw new UserError("STATE_MISSING", `There is no ${FOLDER} directory in ${cwd} or above it`);
  const state = stateDir(found);
  if (!isThere(state)) throw new UserError("STATE_MISSING", `${found} has no runs in it`);
  return state;
}

/** A directory that cannot be looked into is another matter than one with nothing in it. */
function isThere({ root, database }: StateDir): boolean {
  try {
    statSync(database);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw new UserError("STATE_UNUSABLE", `${root}: ${(error as Error).message}`, { cause: error });
  }
}

/** Private, because logs and plans may hold what is nobody else's business. */
export function makeStateDir({ root }: StateDir): void {
  try {
    mkdirSync(root, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new UserError("STATE_UNUSABLE", `${root} cannot be made: ${(error as Error).message}`, { cause: error });
  }
}

function nearest(from: string): string | undefined {
  for (let folder = from; ; folder = dirname(folder)) {
    const candidate = join(folder, FOLDER);
    if (existsSync(candidate)) return candidate;
    if (dirname(folder) === folder) return undefined;
  }
}
