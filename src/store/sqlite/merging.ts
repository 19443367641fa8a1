/**
 * Several sheets that follow each other, as one: what a task was in between is not written, runs and seals are brought up to date once, and
 * the ledger gets full pages. Posting what a run of a thousand short commands enters takes two thirds of the time so, and half of that is the disk.
 */
import { PAGE_MAX } from "./pages.ts";
import type { Moved } from "./seals.ts";
import { type Rows, type Sheet, TASK_WIDTH } from "./sheet.ts";
import type { Value } from "./sums.ts";

/** Nothing where one does not take the rows to be what those before it have made of them. */
export function merged(sheets: readonly Sheet[]): Omit<Sheet, "serial"> | undefined {
  const [first] = sheets;
  if (first === undefined || sheets.some(({ epoch }) => epoch !== first.epoch)) return undefined;
  const tasks = lastOfTasks(sheets);
  if (tasks === undefined) return undefined;
  const all = <T>(part: (sheet: Sheet) => readonly T[]): T[] => sheets.flatMap(part);
  return {
    epoch: first.epoch,
    runs: [...new Map(all(({ runs }) => runs).map((run) => [run.no, run])).values()],
    requestsDone: all(({ requestsDone }) => requestsDone),
    lessons: all(({ lessons }) => lessons),
    edited: all(({ edited }) => edited),
    sessions: all(({ sessions }) => sessions),
    pauses: all(({ pauses }) => pauses),
    answers: all(({ answers }) => answers),
    rows: {
      newRuns: all(({ rows }) => rows.newRuns),
      specs: all(({ rows }) => rows.specs),
      ...tasks,
      pages: joinedPages(all(({ rows }) => rows.pages)),
    },
    moved: allMoved(sheets),
    size: sheets.reduce((sum, { size }) => sum + size, 0),
  };
}

/** A row of a task among others, and the version that it replaces in the tables. */
interface Placed {
  readonly values: readonly Value[];
  readonly from: number;
  readonly replaces: number;
}

/** Where in a row its run, its task and its version stand. */
const [RUN, TASK, VERSION] = [0, 1, 3];

function lastOfTasks(sheets: readonly Sheet[]): Pick<Rows, "freshTasks" | "changedTasks"> | undefined {
  const runs = new Map<Value, Map<Value, Placed>>();
  for (const { rows } of sheets) for (const placed of placedIn(rows)) if (!isTaken(runs, placed)) return undefined;
  const [freshTasks, changedTasks]: [Value[], Value[]] = [[], []];
  for (const tasks of runs.values())
    for (const { values, from, replaces } of tasks.values()) {
      const row = values.slice(from, from + TASK_WIDTH);
      if (replaces === 0) freshTasks.push(...row);
      else changedTasks.push(...row, replaces);
    }
  return { freshTasks, changedTasks };
}

function* placedIn({ freshTasks, changedTasks }: Rows): Iterable<Placed> {
  for (let from = 0; from < freshTasks.length; from += TASK_WIDTH) yield { values: freshTasks, from, replaces: 0 };
  for (let from = 0; from < changedTasks.length; from += TASK_WIDTH + 1)
    yield { values: changedTasks, from, replaces: changedTasks[from + TASK_WIDTH] as number };
}

/** False when it does not replace what is there. */
function isTaken(runs: Map<Value, Map<Value, Placed>>, placed: Placed): boolean {
  const { values, from, replaces } = placed;
  const [run, task] = [values[from + RUN] as Value, values[from + TASK] as Value];
  const tasks = runs.get(run) ?? new Map<Value, Placed>();
  runs.set(run, tasks);
  const before = tasks.get(task);
  if (before !== undefined && before.values[before.from + VERSION] !== replaces) return false;
  tasks.set(task, before === undefined ? placed : { values, from, replaces: before.replaces });
  return true;
}

/** How many values a page has: its first and its last position, its run and its events. */
const PAGE_WIDTH = 4;

/** Pages of one run that follow each other, with as much on each as a page holds. */
function joinedPages(pages: readonly Value[]): readonly Value[] {
  const joined: Value[] = [];
  let texts: string[] = [];
  let [first, last, run] = [0, 0, 0];
  const end = (): void => {
    if (texts.length > 0) joined.push(first, last, run, `[${texts.join(",")}]`);
    texts = [];
  };
  for (let at = 0; at < pages.length; at += PAGE_WIDTH) {
    const [from, to, of, events] = pages.slice(at, at + PAGE_WIDTH) as [number, number, number, string];
    if (of !== run || from !== last + 1 || to - first >= PAGE_MAX) end();
    if (texts.length === 0) [first, run] = [from, of];
    last = to;
    // Without the brackets of its list.
    texts.push(events.slice(1, -1));
  }
  end();
  return joined;
}

function allMoved(sheets: readonly Sheet[]): ReadonlyMap<number, Moved> {
  const all = new Map<number, Moved>();
  for (const { moved } of sheets)
    for (const [run, { first, last, versions }] of moved) {
      const before = all.get(run);
      if (before === undefined) all.set(run, { first, last, versions });
      else {
        if (last !== 0) before.last = last;
        before.versions += versions;
      }
    }
  return all;
}
