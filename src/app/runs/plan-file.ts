/** A plan in a file: read, checked, and ready to be run. */
import { existsSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { UserError } from "../../domain/errors.ts";
import { type TaskId, taskId } from "../../domain/ids.ts";
import { digestOf } from "../../effects/digest.ts";
import { machineCapacity } from "../../effects/machine.ts";
import { namesPassed } from "../../execute/process/environment.ts";
import type { Diagnostic } from "../../plan/check/diagnostics.ts";
import { onlyTasks } from "../../plan/only.ts";
import { type Plan, parsePlan } from "../../plan/plan.ts";
import { planSchema } from "../../plan/shape.ts";
import { closest } from "../../std/closest.ts";

/** A plan that can be run, and where it came from. */
export interface LoadedPlan {
  readonly plan: Plan;
  /** Absolute. */
  readonly file: string;
  readonly directory: string;
  /** The digest of the file's bytes, to notice changes. */
  readonly digest: string;
  readonly warnings: readonly Diagnostic[];
  /** The named tasks, when the plan has only these tasks of the file and what they need. */
  readonly only?: readonly TaskId[];
}

/** How a plan file is looked at. */
export interface LoadOptions {
  /** Warnings count as errors. */
  readonly strict: boolean;
  /** How messages call the file; its last name, or `stdin`, when absent. */
  readonly name?: string;
  /** Requests of tasks are not compared with this machine: the plan does not run here. */
  readonly anywhere?: boolean;
  /** The setting `pass`. When it is given, the check warns of tasks that name a variable which they do not get. */
  readonly pass?: readonly string[];
  /** The directories of tasks are checked, too. */
  readonly looks?: boolean;
  /** What the workers here can do beyond the common capabilities. */
  readonly capabilities?: readonly string[];
}

/** What there is to say about a plan file, and the plan where it can be run. */
export interface CheckedPlan {
  readonly diagnostics: readonly Diagnostic[];
  /** Absent when it cannot be run. */
  readonly plan?: Plan;
  /** The file as it is, for excerpts. */
  readonly bytes: Uint8Array;
}

/** The JSON Schema of a plan, for editors and other programs. */
export const planJsonSchema = planSchema;

/** The plan, or a `UserError` with everything that is wrong with it. */
export async function loadPlan(file: string, options: LoadOptions): Promise<LoadedPlan> {
  const { plan, diagnostics, bytes } = await checkPlan(file, options);
  if (plan === undefined) throw invalid(options.name ?? nameOf(file), diagnostics);
  return { plan, file, directory: dirname(file), digest: digestOf(bytes), warnings: diagnostics };
}

/** The plan with only these tasks and what they need; the whole plan where none is named. */
export function limitTo(loaded: LoadedPlan, names: readonly string[]): LoadedPlan {
  if (names.length === 0) return loaded;
  const plan = onlyTasks(loaded.plan, names);
  if (plan.ok) return { ...loaded, plan: plan.value, only: [...new Set(names)].map(taskId) };
  const near = closest(
    plan.error,
    loaded.plan.tasks.map(({ id }) => id),
  );
  const meant = near === undefined ? "" : `. Did you mean "${near}"?`;
  throw new UserError("TASK_UNKNOWN", `${nameOf(loaded.file)} has no task "${plan.error}"${meant}`, {
    hint: "`rota run PLAN --dry-run` lists its tasks.",
  });
}

/** Looked up once: a daemon reads many plans, and its machine does not change. */
let here: ReturnType<typeof machineCapacity> | undefined;

/** A plan that came as text is checked like a file. */
export async function readPlan(
  text: string,
  name: string,
  { capabilities = [] }: Pick<LoadOptions, "capabilities"> = {},
): Promise<Plan> {
  here ??= machineCapacity();
  const parsed = await parsePlan(text, name, { strict: false, capacity: here, capabilities });
  if (!parsed.ok) throw invalid(name, parsed.error);
  return parsed.value.plan;
}

/** All findings about the file. Throws only when the file cannot be read at all. */
export async function checkPlan(file: string, options: LoadOptions): Promise<CheckedPlan> {
  const { strict, name = nameOf(file), anywhere = false, looks = false, pass, capabilities = [] } = options;
  const bytes = bytesOf(file, name);
  const here = anywhere ? {} : { capacity: machineCapacity(), capabilities };
  const parsed = await parsePlan(bytes, name, {
    strict,
    ...here,
    ...(looks && { hasDirectory: (path: string) => isDirectory(resolve(dirname(file), path)) }),
    ...(pass !== undefined && { passed: namesPassed(pass) }),
  });
  return parsed.ok
    ? { diagnostics: parsed.value.warnings, plan: parsed.value.plan, bytes }
    : { diagnostics: parsed.error, bytes };
}

/** The plan as text, to be checked by a daemon. */
export async function planText(file: string): Promise<string> {
  const name = nameOf(file);
  const bytes = bytesOf(file, name);
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    throw new UserError("PLAN_UNREADABLE", `${name} is not text in UTF-8`, { cause: error });
  }
}

const isDirectory = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

/** The root of all files has no last name. */
export const nameOf = (file: string): string => (isStandardInput(file) ? STDIN_NAME : basename(file) || file);

/** How messages call a plan that comes through a pipe. */
export const STDIN_NAME = "stdin";
/** A plan from a pipe is called `-`, which as a path lies in the current directory: where its tasks run. */
const isStandardInput = (file: string): boolean => basename(file) === "-" && !existsSync(file);

/** Read synchronously: there is nothing else to do meanwhile, and an asynchronous read takes ten times as long. */
function bytesOf(file: string, name: string): Uint8Array {
  try {
    return readFileSync(isStandardInput(file) ? 0 : file);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const what = code === "ENOENT" ? "There is no such file" : code === "EISDIR" ? "It is a directory" : message;
    throw new UserError("PLAN_UNREADABLE", `${name} cannot be read: ${what}`, { cause: error });
  }
}

const SHOWN_MAX = 20;

function invalid(name: string, diagnostics: readonly Diagnostic[]): UserError {
  const errors = diagnostics.filter(({ severity }) => severity === "error");
  const lines = errors
    .slice(0, SHOWN_MAX)
    .map(({ code, file, line, column, message, hint }) => `${file}:${line}:${column}: ${code}: ${message} ${hint}`);
  const rest = errors.length > SHOWN_MAX ? [`and ${errors.length - SHOWN_MAX} more`] : [];
  const message = [`${name} cannot be run`, ...lines, ...rest].join("\n  ");
  return new UserError("PLAN_INVALID", message, { diagnostics: diagnostics.slice(0, SHOWN_MAX) });
}
