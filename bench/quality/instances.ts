/** Published scheduling instances, as plans: project networks, task graphs and recorded workflows. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { taskId } from "../../src/domain/ids.ts";
import { type Amounts, SPEC_DEFAULTS, type TaskSpec } from "../../src/domain/spec.ts";
import { millis } from "../../src/domain/time.ts";

/** Durations in the files are small numbers or seconds; one unit is this long here. */
export const UNIT_MS = 1_000;

export interface Instance {
  readonly set: string;
  readonly name: string;
  readonly specs: readonly TaskSpec[];
  readonly resources: Amounts;
  readonly workers: number;
  /** What the makespan is measured against, and what it cannot be below, in units. */
  readonly best: number;
  readonly lowerBound: number;
}

interface Project {
  set: string;
  name: string;
  n: number;
  R: number;
  cap: number[];
  dur: number[];
  req: number[];
  succ: number[][];
  ub: number;
  lb: number;
}
interface TaskGraph {
  name: string;
  n: number;
  dur: number[];
  preds: number[][];
  opt: Record<string, number>;
  lb: Record<string, number>;
}
interface Workflow {
  name: string;
  dur: number[];
  succ: number[][];
}

export const projects = (data: string): readonly Instance[] =>
  read<Project>(data, "psplib-dev.jsonl.gz").map((project) => ({
    set: project.set,
    name: project.name,
    specs: specsOf(project.dur, predecessors(project.succ), (no) => requestOf(project, no)),
    resources: Object.fromEntries(project.cap.map((capacity, kind) => [`r${kind}`, capacity])),
    workers: project.n,
    best: project.ub,
    lowerBound: project.lb,
  }));

export const taskGraphs = (data: string): readonly Instance[] =>
  read<TaskGraph>(data, "stg50.jsonl.gz").flatMap((graph) =>
    Object.entries(graph.opt).map(([processors, best]) => ({
      set: `stg50/p${processors}`,
      name: graph.name,
      specs: specsOf(graph.dur, graph.preds, () => ({})),
      resources: {},
      workers: Number(processors),
      best,
      lowerBound: graph.lb?.[processors] ?? best,
    })),
  );

export const workflows = (data: string): readonly Instance[] =>
  read<Workflow>(data, "workflows-dev.jsonl.gz").flatMap(({ name, dur, succ }) =>
    [4, 16, 64].map((workers) => {
      // As the clock will have them, so that the bound is not off by what rounding adds up to.
      const flow = { name, succ, dur: dur.map((each) => Math.round(each * UNIT_MS) / UNIT_MS) };
      const specs = specsOf(flow.dur, predecessors(flow.succ), () => ({}));
      const bound = Math.max(longestPath(flow), flow.dur.reduce((sum, each) => sum + each, 0) / workers);
      return {
        set: `workflows/${workers}`,
        name: flow.name,
        specs,
        resources: {},
        workers,
        best: bound,
        lowerBound: bound,
      };
    }),
  );

function read<T>(data: string, file: string): readonly T[] {
  const text = gunzipSync(readFileSync(join(data, file))).toString("utf8");
  return text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as T);
}

const specsOf = (durations: number[], preds: number[][], request: (no: number) => Amounts): readonly TaskSpec[] =>
  durations.map((duration, no) => ({
    ...SPEC_DEFAULTS,
    id: taskId(`t${no}`),
    run: { shell: "true" },
    needs: (preds[no] ?? []).map((need) => taskId(`t${need}`)),
    estimate: millis(Math.round(duration * UNIT_MS)),
    resources: request(no),
  }));

const requestOf = ({ R, req }: Project, no: number): Amounts =>
  Object.fromEntries(
    Array.from({ length: R }, (_, kind) => [`r${kind}`, req[no * R + kind] as number] as const).filter(
      ([, amount]) => amount > 0,
    ),
  );

function predecessors(succ: number[][]): number[][] {
  const preds: number[][] = succ.map(() => []);
  for (const [no, next] of succ.entries()) for (const each of next) (preds[each] as number[]).push(no);
  return preds;
}

function longestPath({ dur, succ }: Workflow): number {
  const tails = new Map<number, number>();
  const tail = (from: number): number => {
    const stack = [from];
    while (stack.length > 0) {
      const no = stack.at(-1) as number;
      const open = (succ[no] as number[]).filter((next) => !tails.has(next));
      if (open.length > 0) stack.push(...open);
      else {
        stack.pop();
        tails.set(
          no,
          (dur[no] as number) + Math.max(0, ...(succ[no] as number[]).map((next) => tails.get(next) as number)),
        );
      }
    }
    return tails.get(from) as number;
  };
  return Math.max(...dur.map((_, no) => tail(no)));
}
