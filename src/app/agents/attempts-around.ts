/**
 * The attempts from inside of which a program was started. A program inside an attempt has the authority of the attempt and not that of
 * the person who owns the state directory, so that no agent opens its own gate.
 */
import { UserError } from "../../domain/errors.ts";
import { environmentsAbove } from "../../effects/host.ts";
import { readStateId } from "../../execute/process/register.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** The marks of each attempt around this process, as `STATE-ID/RUN/TASK/FENCE`: its own and those of the processes that started it. */
export function attemptsAround(env: Environment, pid = process.pid): readonly string[] {
  const above = [...environmentsAbove(pid)].map((entries) => Object.fromEntries(entries.map(pairOf)) as Environment);
  return [...new Set([env, ...above].flatMap(markOf))];
}

const pairOf = (entry: string): [string, string] => {
  const at = entry.indexOf("=");
  return [entry.slice(0, at), entry.slice(at + 1)];
};

function markOf({ ROTA_STATE_ID: state, ROTA_RUN: run, ROTA_TASK: task, ROTA_FENCE: fence }: Environment): string[] {
  return [state, run, task, fence].includes(undefined) ? [] : [`${state}/${run}/${task}/${fence}`];
}

/** The attempt of this state directory among those marks, in words; nothing where there is none. */
export function attemptOfState(stateDir: string, marks: readonly string[]): string | undefined {
  if (marks.length === 0) return undefined;
  const state = readStateId(stateDir);
  const mark = marks.find((each) => state !== undefined && each.startsWith(`${state}/`));
  if (mark === undefined) return undefined;
  const [, run, task, fence] = mark.split("/");
  return `attempt ${fence} of ${task} in run ${run}`;
}

/** What the processes of this state directory are marked with. Nothing was started there where it has none. */
export const stateIdOf = (stateDir: string): string | undefined => readStateId(stateDir);

/** For what a command writes into the state directory itself, where no daemon would refuse it. */
export function refuseInside(stateDir: string, env: Environment): void {
  const attempt = attemptOfState(stateDir, attemptsAround(env));
  if (attempt !== undefined) throw insideRefused(attempt);
}

export const insideRefused = (attempt: string): UserError =>
  new UserError("FORBIDDEN", `This comes from inside ${attempt}, which may look and report on what it holds`, {
    hint: "Leave it to the person who is responsible for the run: it is done in a terminal of their own.",
  });
