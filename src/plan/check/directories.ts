/** Warns of tasks that are to run in a directory that is not there. */
import type { TaskNo } from "../../domain/graph.ts";
import type { Findings } from "./diagnostics.ts";
import type { Subject } from "./validate.ts";

export interface Directories {
  /** Warnings are errors. */
  readonly strict?: boolean;
  /** Whether there is such a directory, seen from the plan's. When it is given, tasks are held against it. */
  readonly hasDirectory?: (path: string) => boolean;
}

/** Tasks that wait for others are passed over: what comes before them may make the directory. */
export function checkDirectories(subject: Subject, { strict, hasDirectory }: Directories, findings: Findings): void {
  if (hasDirectory === undefined) return;
  const known = new Map<string, boolean>();
  for (const [no, { id, cwd, pool }] of subject.tasks.entries()) {
    if (cwd === undefined || pool !== undefined || subject.graph.needCount(no as TaskNo) > 0) continue;
    const isThere = known.get(cwd) ?? hasDirectory(cwd);
    known.set(cwd, isThere);
    if (isThere) continue;
    findings.add({
      code: "PLAN_DIRECTORY",
      message: `${id} is to run in "${cwd}", and there is no such directory.`,
      spot: { path: ["tasks", subject.originOf(no as TaskNo), "cwd"], at: "value" },
      ...(strict === true && { severity: "error" }),
    });
  }
}
