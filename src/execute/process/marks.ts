/** How an attempt is named, and how its processes are known wherever they went: by variables of the environment they were born with. */

import { runId, taskId } from "../../domain/ids.ts";
import { markedProcesses, processStat } from "../../effects/host.ts";
import type { Named } from "./directory.ts";

export const attemptKey = ({ run, task, fence, verification }: Named): string =>
  keyOf(run, task, String(fence), verification === undefined ? "" : String(verification));

const keyOf = (run: string, task: string, fence: string, verification: string): string =>
  `${run}/${task}/${fence}${verification === "" ? "" : `/${verification}`}`;

/** Ids hold no slash. */
export function namedBy(key: string): Named {
  const [run = "", task = "", fence = "", verification] = key.split("/");
  return {
    run: runId(run),
    task: taskId(task),
    fence: Number(fence),
    ...(verification !== undefined && { verification: Number(verification) }),
  };
}

/** The variables that tell an attempt which one it is, and us which processes are its own. Ids hold no slash. */
export function attemptMarks(key: string, stateId: string): Readonly<Record<string, string>> {
  const [run = "", task = "", fence = "", verification] = key.split("/");
  return {
    ROTA_RUN: run,
    ROTA_TASK: task,
    ROTA_ATTEMPT: fence,
    ROTA_FENCE: fence,
    ROTA_STATE_ID: stateId,
    ...(verification !== undefined && { ROTA_VERIFICATION: verification }),
  };
}

/** Living processes by the attempt they belong to. */
export type Sighting = ReadonlyMap<string, readonly number[]>;

/** Looks at every process of the machine: about a millisecond for a hundred. */
export function sight(stateId: string): Sighting {
  const seen = new Map<string, number[]>();
  for (const { pid, environment } of markedProcesses(`ROTA_STATE_ID=${stateId}`)) {
    const key = keyOf(
      variable(environment, "ROTA_RUN="),
      variable(environment, "ROTA_TASK="),
      variable(environment, "ROTA_FENCE="),
      variable(environment, "ROTA_VERIFICATION="),
    );
    const pids = seen.get(key);
    if (pids === undefined) seen.set(key, [pid]);
    else pids.push(pid);
  }
  return seen;
}

const variable = (environment: readonly string[], name: string): string =>
  environment.find((entry) => entry.startsWith(name))?.slice(name.length) ?? "";

/** The processes that left the group: the others get the signals of the group. */
export const outsideGroup = (pids: readonly number[], group: number | undefined): readonly number[] =>
  pids.filter((pid) => processStat(pid)?.group !== group);
