/** The environment of a task: what every program needs, what the task asks for, and nothing else of the scheduler's. */
import type { EnvValue } from "../../domain/spec.ts";
import { err, ok, type Result } from "../../std/result.ts";

/** Passed on if they are set. A name that ends in `*` means all names with that beginning. */
export const PASSED = ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_*", "TERM", "TZ", "TMPDIR"] as const;
/** Every attempt is told which one it is (`marks.ts`), the command of its acceptance which try of that. */
const TOLD = ["ROTA_RUN", "ROTA_TASK", "ROTA_ATTEMPT", "ROTA_FENCE", "ROTA_STATE_ID", "ROTA_VERIFICATION"] as const;

/** The names of all variables that a task has without asking for them. */
export const namesPassed = (extra: readonly string[]): readonly string[] => [...PASSED, ...TOLD, ...extra];

/** Shorter values would mask half the log and protect nothing. */
const SECRET_LENGTH_MIN = 4;

export type Environment = Readonly<Record<string, string>>;

/** What every task gets. */
export function baseEnvironment(own: NodeJS.ProcessEnv, extra: readonly string[]): Environment {
  const names = [...PASSED, ...extra];
  const exact = new Set(names.filter((name) => !name.endsWith("*")));
  const prefixes = names.filter((name) => name.endsWith("*")).map((name) => name.slice(0, -1));
  const passed: Record<string, string> = {};
  for (const [name, value] of Object.entries(own)) {
    if (value === undefined) continue;
    if (exact.has(name) || prefixes.some((prefix) => name.startsWith(prefix))) passed[name] = value;
  }
  return passed;
}

export interface TaskEnvironment {
  readonly env: Environment;
  /** Values that must not stay in the log. */
  readonly secrets: readonly string[];
}

/** What the task adds, with its secrets fetched. The error names what is missing. */
export function taskEnvironment(
  wanted: Readonly<Record<string, EnvValue>>,
  own: NodeJS.ProcessEnv,
): Result<TaskEnvironment, string> {
  const env: Record<string, string> = {};
  const secrets: string[] = [];
  for (const [name, value] of Object.entries(wanted)) {
    if (typeof value === "string") {
      env[name] = value;
      continue;
    }
    const secret = own[value.from];
    if (secret === undefined) return err(`${name} is to come from ${value.from}, which is not set`);
    env[name] = secret;
    if (secret.length >= SECRET_LENGTH_MIN) secrets.push(secret);
  }
  return ok({ env, secrets });
}
