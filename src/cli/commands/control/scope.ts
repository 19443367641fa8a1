/** The scope of a pause or a drain: one task, one run, one pool, or everything when nothing is named. */
import { UserError } from "../../../domain/errors.ts";
import type { Input } from "../../frame/command.ts";
import { given } from "../../frame/daemon.ts";

export interface Scope {
  readonly task?: string;
  readonly run?: string;
  readonly pool?: string;
  readonly why?: string;
}

export function scopeOf(input: Input): Scope {
  const [task] = input.arguments;
  const pool = input.text("pool");
  const run = input.text("run");
  if (pool !== undefined && (task !== undefined || run !== undefined)) {
    throw new UserError("USAGE", `--pool cannot be combined with ${task === undefined ? "--run" : "a task"}`, {
      hint: "Ask for them one after the other.",
    });
  }
  return given({ task, run, pool, why: input.text("why") });
}

/** The arguments that name the same scope again. */
export const scopeArguments = ({ task, run, pool }: Scope): readonly string[] => [
  ...(task === undefined ? [] : [task]),
  ...(run === undefined ? [] : ["--run", run]),
  ...(pool === undefined ? [] : ["--pool", pool]),
];

/** The scope in words. */
export function scopeWords({ task, run, pool }: Scope): string {
  if (task !== undefined) return `task ${task}${run === undefined ? "" : ` of ${run}`}`;
  if (run !== undefined) return `run ${run}`;
  return pool === undefined ? "everything" : `pool ${pool}`;
}
