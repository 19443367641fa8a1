/**
 * From the bytes of a file to a plan, or to everything that is wrong with it:
 * decode → read (JSON or YAML) → shape → normalize → validate. Each stage is a file of its own.
 */
import { buildGraph, type Graph, type TaskNo } from "../domain/graph.ts";
import type { Amounts, Rate, Rates, TaskSpec } from "../domain/spec.ts";
import { Problems } from "../std/problems.ts";
import { err, ok, type Result } from "../std/result.ts";
import { isMap } from "../std/schema.ts";
import { checkDemand } from "./check/demand.ts";
import { diagnose } from "./check/diagnose.ts";
import { type Diagnostic, type Finding, Findings, isError } from "./check/diagnostics.ts";
import { checkDirectories, type Directories } from "./check/directories.ts";
import { withHidden } from "./check/twins.ts";
import { checkEdges, checkHazards, checkTwins, type Subject } from "./check/validate.ts";
import { checkVariables } from "./check/variables.ts";
import { normalizeTasks } from "./normalize.ts";
import { decode, decodeText } from "./read/decode.ts";
import { readSource } from "./read/read.ts";
import type { Duplicate, Source } from "./read/source.ts";
import { type PlanInput, planShape } from "./shape.ts";

/** A plan as it was read: every task with its defaults, and the graph of what they need. */
export interface Plan {
  readonly name: string;
  readonly description?: string;
  /** Named capacities: `cpu` in thousandths of a core, `memory` in bytes, everything else in slots. */
  readonly resources: Amounts;
  /** Capacities that come back with time; tasks ask for amounts of them under the same name. */
  readonly rates: Rates;
  /** Its share among the plans it competes with; 1 when absent. */
  readonly weight?: number;
  /** The tenant it belongs to. */
  readonly tenant?: string;
  /** In submit order, which is the order of the file. */
  readonly tasks: readonly TaskSpec[];
  readonly graph: Graph;
}

export interface ParseOptions extends Directories {
  /** Warnings of tasks that collide on files, or that are to run where there is no directory, are errors. */
  readonly strict?: boolean;
  /** What the machine or the pool has. When it is given, requests for more than that are errors too. */
  readonly capacity?: Amounts;
  /** What workers can do. When it is given, a task that requires anything else is an error. */
  readonly capabilities?: readonly string[];
  /** The variables that every task gets from the scheduler. When it is given, a task that names another one is warned of. */
  readonly passed?: readonly string[];
  readonly bytesMax?: number;
}

export interface ParsedPlan {
  readonly plan: Plan;
  readonly warnings: readonly Diagnostic[];
}

const TASKS_MAX = 2_000_000;

/** Reads a plan, from the bytes of a file or from text. `file` is only a name: it stands in diagnostics, and its ending may say that it is JSON. */
export async function parsePlan(
  given: Uint8Array | string,
  file: string,
  options: ParseOptions = {},
): Promise<Result<ParsedPlan, readonly Diagnostic[]>> {
  const { bytesMax } = options;
  const text = typeof given === "string" ? decodeText(given, bytesMax) : decode(given, bytesMax);
  if (!text.ok) {
    const findings = new Findings();
    findings.add(text.error.finding);
    return err(diagnose(findings, text.error.prefix, file));
  }
  const { plan, diagnostics, duplicates } = await parseText(text.value, file, options);
  if (plan !== undefined) return ok({ plan, warnings: diagnostics });
  const diagnosticsOf = async (other: string) => (await parseText(other, file, options)).diagnostics;
  return err(await withHidden(diagnostics, text.value, duplicates, diagnosticsOf));
}

interface Parsed {
  /** Absent when something is wrong with it. */
  readonly plan?: Plan;
  readonly diagnostics: readonly Diagnostic[];
  readonly duplicates: readonly Duplicate[];
}

async function parseText(text: string, file: string, options: ParseOptions): Promise<Parsed> {
  const findings = new Findings();
  const source = await readSource(text, file);
  for (const finding of source.ok ? source.value.findings : source.error) findings.add(finding);
  if (!source.ok) return { diagnostics: diagnose(findings, text, file), duplicates: [] };

  checkDirection(text, findings);
  const plan = planOf(source.value, file, options, findings);
  const diagnostics = diagnose(findings, text, file, source.value);
  const isSound = plan !== undefined && !findings.list.some(isError);
  return { ...(isSound && { plan }), diagnostics, duplicates: source.value.duplicates };
}

/** The plan, as far as it can be read; it counts only when no finding is an error. */
function planOf(source: Source, file: string, options: ParseOptions, findings: Findings): Plan | undefined {
  const problems = new Problems("The plan");
  const input = planShape.read(source.value, problems) ?? tasksOnly(source.value);
  if (input === undefined || !hasFittingSize(input.tasks, source.taskKeys.length, findings)) {
    findings.addProblems(problems);
    return undefined;
  }
  const { specs, origins, bases, unread } = normalizeTasks(input, source.taskKeys, problems);
  findings.addProblems(problems);
  const graph = buildGraph(specs);
  const originOf = (no: TaskNo) => origins?.[no] ?? (specs[no] as TaskSpec).id;
  const subject: Subject = { tasks: specs, graph, originOf, isAsWritten: bases.size === 0, unread };
  const plan: Plan = { ...headOf(input, file), tasks: specs, graph };

  const before = findings.list.length;
  if (origins !== undefined) checkTwins(subject, findings);
  checkEdges(subject, findings);
  if (findings.list.length === before && unread.size === 0) checkHazards(subject, options.strict ?? false, findings);
  checkDemand(subject, plan, options, findings);
  if (options.passed !== undefined) checkVariables(subject, options.passed, options.strict ?? false, findings);
  checkDirectories(subject, options, findings);
  return plan;
}

/** When the rest of a plan is wrong its tasks are checked all the same, so that the user is told everything at once. */
function tasksOnly(value: unknown): PlanInput | undefined {
  return isMap(value) && Object.hasOwn(value, "tasks") ? { tasks: value.tasks } : undefined;
}

/** A value that is neither a map nor a list has no size, and is reported later. */
function hasFittingSize(tasks: unknown, keys: number, findings: Findings): boolean {
  const spot: Finding["spot"] = { path: ["tasks"], at: "key" };
  const size = Array.isArray(tasks) ? tasks.length : keys;
  const isEmpty = size === 0 && (tasks === null || typeof tasks === "object");
  if (isEmpty) findings.add({ code: "PLAN_EMPTY", message: "The plan has no tasks.", spot });
  else if (size > TASKS_MAX) {
    findings.add({
      code: "PLAN_TOO_LARGE",
      message: `The plan has ${size} tasks; at most ${TASKS_MAX} are read.`,
      spot,
    });
  } else return true;
  return false;
}

function headOf(input: PlanInput, file: string): Omit<Plan, "tasks" | "graph"> {
  const resources: Record<string, number> = {};
  const rates: Record<string, Rate> = {};
  for (const [name, capacity] of Object.entries(input.resources ?? {})) {
    if (typeof capacity === "number") resources[name] = capacity;
    else rates[name] = capacity;
  }
  const name = input.name ?? nameOf(file);
  return {
    name,
    resources,
    rates,
    ...(input.description !== undefined && { description: input.description }),
    ...(input.weight !== undefined && { weight: input.weight }),
    ...(input.tenant !== undefined && { tenant: input.tenant }),
  };
}

/** The file's own name, without folders and ending. */
const nameOf = (file: string): string => /([^/\\]+?)(?:\.[^./\\]*)?$/.exec(file)?.[1] ?? "plan";

const TURNING = /[\u202a-\u202e\u2066-\u2069]/;

/** Characters that show text in another order than it is read in: a person would see something else than what runs. */
function checkDirection(text: string, findings: Findings): void {
  const offset = text.search(TURNING);
  if (offset === -1) return;
  const message = "The plan holds a character that changes the direction of the text shown around it.";
  findings.add({ code: "PLAN_BIDI", message, spot: { offset } });
}
