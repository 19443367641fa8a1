/** What `rota run` would do with a plan: its tasks in waves, in the order in which they would begin, and where. */
import type { RunId, TaskId } from "../../domain/ids.ts";
import type { DryRunReply } from "../../wire/replies/plan.ts";
import { type Line, paintSections, quiet, strong, type Theme, table, toned } from "../text/line.ts";
import { grouped, plural } from "../text/moment.ts";
import { names } from "../why/wait.ts";

export interface DryRun {
  readonly name: string;
  readonly file: string;
  readonly workers: number;
  /** The tasks that it is limited to, with what they need. */
  readonly only?: readonly TaskId[];
  /** The run that would be gone on with, or that has ended already. */
  readonly resumes?: { readonly run: RunId; readonly done: number };
  /** The tasks that would run, in the order in which they would begin within each wave. */
  readonly tasks: readonly DryTask[];
}

export interface DryTask {
  readonly task: TaskId;
  /** Counted from 1: one more than the highest wave of the tasks that it waits for. */
  readonly wave: number;
  /** `local`: this machine's own processes; else the pool whose sessions do it. */
  readonly pool: string;
  readonly directory: string;
  readonly waitsFor: readonly TaskId[];
  /** What a person is asked before it may start. */
  readonly gate?: string;
}

/** More than this is left to `--json`. */
const TASKS_MAX = 200;
const NEEDS_MAX = 4;

export function dryRunText(dry: DryRun, { columns }: { readonly columns: number }, theme: Theme): string[] {
  const shown = dry.tasks.slice(0, TASKS_MAX);
  const more = dry.tasks.length - shown.length;
  const rows = shown.map(({ task, wave, pool, waitsFor, gate }, at): Line[] => [
    [quiet(wave === shown[at - 1]?.wave ? "" : `wave ${wave}`)],
    [task],
    [pool],
    [
      quiet(
        waitsFor.length === 0
          ? ""
          : `after ${names({ first: waitsFor, total: waitsFor.length }, (id) => id, NEEDS_MAX)}`,
      ),
    ],
    [gate === undefined ? "" : toned("warn", `asks a person: ${gate}`)],
  ]);
  const columnsOf = [{}, { shrinkTo: 12 }, { shrinkTo: 8 }, { shrinkTo: 12 }, { shrinkTo: 12 }];
  const list = [
    ...table(rows, { columns: columnsOf, width: columns }),
    ...(more > 0 ? [[quiet(`  and ${grouped(more)} more: --json has them all`)]] : []),
  ];
  return paintSections([headOf(dry), list], theme, columns);
}

function headOf({ name, workers, tasks, resumes, only }: DryRun): Line[] {
  const waves = plural(tasks.at(-1)?.wave ?? 0, "wave");
  const what = `would run ${plural(tasks.length, "task")} on ${plural(workers, "worker")}, in ${waves}`;
  const some = only && names({ first: only, total: only.length }, (id) => id, NEEDS_MAX);
  const before =
    resumes === undefined || tasks.length === 0
      ? ""
      : `${resumes.run}: ${plural(resumes.done, "task")} of it ${resumes.done === 1 ? "is" : "are"} over`;
  return [
    [
      strong(name),
      " ",
      tasks.length === 0 ? "has ended, and nothing would run" : what,
      quiet("  (nothing was run or written)"),
    ],
    ...(before === "" ? [] : [[quiet(`  goes on with ${before}`)]]),
    ...(some === undefined ? [] : [[quiet(`  only ${some}, and what is needed for that`)]]),
  ];
}

export const dryRunJson = ({ name, file, workers, only, resumes, tasks }: DryRun): DryRunReply => ({
  name,
  file,
  workers,
  ...(only !== undefined && { only }),
  resumes: resumes?.run ?? null,
  tasks: tasks.map(({ task, wave, pool, directory, waitsFor, gate }) => ({
    task,
    wave,
    pool,
    directory,
    waits_for: waitsFor,
    ...(gate !== undefined && { gate }),
  })),
});
