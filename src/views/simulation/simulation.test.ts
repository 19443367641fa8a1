import { describe, expect, test } from "vitest";
import { taskNo } from "../../domain/graph.ts";
import { taskId, workerId } from "../../domain/ids.ts";
import { instant, type Millis, millis, seconds } from "../../domain/time.ts";
import { timelineSvg } from "../timeline/timeline-svg.ts";
import { type SimulationReport, simulationJson, timelineOfSimulation } from "./simulation.ts";
import { simulationHtml } from "./simulation-html.ts";
import { changePhrase, closeness, simulationText } from "./simulation-text.ts";

const PLAIN = { color: false, unicode: true };

/** A report with this many tasks, one second each, shared out over the workers in turn. */
function report(tasks: number, workers: number, rest: Partial<SimulationReport> = {}): SimulationReport {
  const schedule = Array.from({ length: tasks }, (_, at) => {
    const start = Math.floor(at / workers) * 1_000;
    const worker = workerId(`local/${(at % workers) + 1}`);
    return { no: taskNo(at), task: taskId(`t${at}`), worker, start: instant(start), end: instant(start + 1_000) };
  });
  const makespan = seconds(Math.ceil(tasks / workers));
  return {
    name: "plan",
    tasks,
    nodes: 1,
    makespan,
    bound: { ms: makespan, because: { kind: "work" } },
    use: 1,
    schedule,
    criticalPath: schedule.filter((_, at) => at % workers === 0).map(({ task }) => task),
    workers: Array.from({ length: workers }, (_, at) => {
      const own = schedule.filter(({ worker }) => worker === `local/${at + 1}`);
      return {
        worker: workerId(`local/${at + 1}`),
        tasks: own.length,
        busy: seconds(own.length),
        use: seconds(own.length) / makespan,
      };
    }),
    resources: [],
    work: seconds(tasks),
    sources: { actual: 0, estimate: tasks, history: 0, unknown: 0 },
    overTime: [],
    stalled: [],
    variants: [],
    ...rest,
  };
}

const textOf = (given: SimulationReport): string => simulationText(given, { columns: 80 }, PLAIN).join("\n");

describe("in a terminal", () => {
  test("few workers are shown each for itself, many together", () => {
    expect(textOf(report(20, 4))).toMatch(/local\/4 +█+ +100% +5 tasks/);
    expect(textOf(report(34, 17))).not.toContain("local/17");
    expect(textOf(report(34, 17))).toMatch(/workers +█+ +100% +of 17/);
  });

  test("many tasks are drawn by worker, with the longest of the critical path", () => {
    const text = textOf(report(400, 4));
    expect(text).toContain("Longest on the critical path");
    expect(text).not.toContain("t399");
  });

  test("a worker that is nearly always busy is not said to be always busy", () => {
    const [first, ...others] = report(8, 2).workers;
    const workers = [{ ...first, use: 0.9999 } as (typeof others)[number], ...others];
    expect(textOf(report(8, 2, { workers }))).toMatch(/local\/1 +█{19}░ +99%/);
  });

  test("a rate says what it brings and how often", () => {
    const resources = [{ name: "tokens", capacity: 400_000, per: seconds(60), use: 0.5 }];
    expect(textOf(report(2, 2, { resources }))).toMatch(/tokens +█{10}░{10} +50% +of 400,000 every 1m/);
  });
});

test.each([
  [1_000, "reached: nothing can be faster"],
  [1_000.5, "less than 0.1% above it"],
  [1_034, "3.4% above it"],
  [2_500, "150% above it"],
])("a makespan of %d is so close to a bound of a second: %s", (makespan, words) => {
  expect(closeness(millis(makespan), { ms: millis(1_000), because: { kind: "path" } })).toBe(words);
});

test.each([
  [0, "same"],
  [0.01, "+<0.1%"],
  [-3.42, "-3.4%"],
  [46.2, "+46%"],
])("a change of %d percent is said as %s", (change, words) => {
  expect(changePhrase(change)).toBe(words);
});

test("nothing that a plan is called can act on a page, a picture or a terminal", () => {
  const name = "<script>\u001b[2J";
  const hostile = report(2, 1, { name, variants: [{ ...report(2, 1), whatIf: "<img src=x>=1" }] });
  expect(simulationHtml(hostile).match(/<script|<img/g)).toHaveLength(1);
  expect(timelineSvg(timelineOfSimulation(hostile))).not.toContain("<script");
  expect(textOf(hostile)).not.toContain("\u001b");
});

test("a plan that takes no time at all can be shown", () => {
  const nothing: Partial<SimulationReport> = {
    makespan: 0 as Millis,
    bound: { ms: millis(0), because: { kind: "path" } },
    use: 0,
  };
  const given = report(1, 1, { ...nothing, schedule: [], criticalPath: [], workers: [] });
  const variants = [{ ...given, whatIf: "workers=2" }];
  expect(textOf({ ...given, variants })).toContain("would take 0s");
  expect(simulationJson({ ...given, variants })).toMatchObject({ variants: [{ change_percent: null }] });
});
