/** The rules for a plan's graph: every name is a task, no task waits for itself, all requests can be met, no two writers collide. */
import { type Graph, type TaskNo, taskNo } from "../../domain/graph.ts";
import type { TaskId } from "../../domain/ids.ts";
import type { TaskSpec } from "../../domain/spec.ts";
import { closest } from "../../std/closest.ts";
import { type Path, type PathPart, shorten } from "../../std/problems.ts";
import { findCircles, topologicalOrder } from "../order.ts";
import type { Finding, Findings } from "./diagnostics.ts";
import { findHazards, type Hazard } from "./hazards.ts";

export interface Subject {
  readonly tasks: readonly TaskSpec[];
  readonly graph: Graph;
  /** Where the task stands under `tasks`. */
  readonly originOf: (no: TaskNo) => PathPart;
  /** Whether lists such as `needs` still have the items of the file in their places. */
  readonly isAsWritten: boolean;
  /** Names that are in the plan although no task could be read for them. */
  readonly unread: ReadonlySet<string>;
}

/** Ids that two tasks of a list have, or that a matrix makes although a task has them already. */
export function checkTwins(subject: Subject, findings: Findings): void {
  for (let no = 0; no < subject.tasks.length; no++) {
    const { id } = subject.tasks[no] as TaskSpec;
    // Of the tasks with one id the graph knows the last; all before it are reported here.
    if (subject.graph.find(id) === no) continue;
    const origin = subject.originOf(subject.graph.find(id) as TaskNo);
    const path = typeof origin === "number" ? ["tasks", origin, "id"] : ["tasks", origin];
    const at = typeof origin === "number" ? "value" : "key";
    findings.add({
      code: "PLAN_DUPLICATE",
      message: `There is more than one task with the id ${id}.`,
      spot: { path, at },
    });
  }
}

/** Unknown needs, needs of itself, and circles. */
export function checkEdges(subject: Subject, findings: Findings): void {
  for (let no = 0; no < subject.tasks.length; no++) {
    const { id, needs, after } = subject.tasks[no] as TaskSpec;
    if (needs.length > 0) checkNames(subject, taskNo(no), id, needs, "needs", findings);
    if (after.length > 0) checkNames(subject, taskNo(no), id, after, "after", findings);
  }
  for (const circle of findCircles(subject.graph, topologicalOrder(subject.graph))) {
    findings.add(circleFinding(subject, circle));
  }
}

function checkNames(
  subject: Subject,
  no: TaskNo,
  id: TaskId,
  names: readonly TaskId[],
  field: "needs" | "after",
  findings: Findings,
): void {
  for (let at = 0; at < names.length; at++) {
    const name = names[at] as TaskId;
    if (name === id) {
      findings.add({
        code: "PLAN_NEED_SELF",
        message: `${id} waits for itself.`,
        spot: spotOf(subject, no, field, at),
      });
    } else if (subject.graph.find(name) === undefined && !subject.unread.has(name)) {
      const near = findings.isFull ? undefined : nearest(name, subject.tasks);
      findings.add({
        code: "PLAN_NEED_UNKNOWN",
        message: `${id} waits for "${shorten(name)}", which is not a task.`,
        spot: spotOf(subject, no, field, at),
        hint: near === undefined ? undefined : `Did you mean "${near}"?`,
      });
    }
  }
}

/** How many names are tried for a hint. More would take longer than the hint is worth. */
const NAMES_TRIED_MAX = 5_000;

const nearest = (name: string, tasks: readonly TaskSpec[]): string | undefined =>
  closest(
    name,
    tasks.slice(0, NAMES_TRIED_MAX).map((task) => task.id),
  );

function spotOf(
  subject: Subject,
  no: TaskNo,
  field: "needs" | "after" | "reads" | "writes",
  at: number,
): Finding["spot"] {
  const path: Path = ["tasks", subject.originOf(no), field];
  return { path: subject.isAsWritten ? [...path, at] : path, at: "value" };
}

/** How many names are shown of a long circle, half from each end. */
const CIRCLE_SHOWN_MAX = 20;

function circleFinding(subject: Subject, circle: readonly TaskNo[]): Finding {
  const [first, second] = [circle[0] as TaskNo, circle[1] as TaskNo];
  const names = [...circle, first].map((no) => (subject.tasks[no] as TaskSpec).id as string);
  const left = names.length - CIRCLE_SHOWN_MAX;
  const half = CIRCLE_SHOWN_MAX / 2;
  const shown = left <= 1 ? names : [...names.slice(0, half), `(${left} more)`, ...names.slice(-half)];
  const { needs, after } = subject.tasks[first] as TaskSpec;
  const wanted = (subject.tasks[second] as TaskSpec).id;
  const field = needs.includes(wanted) ? "needs" : "after";
  const at = (field === "needs" ? needs : after).indexOf(wanted);
  return {
    code: "PLAN_CYCLE",
    message: `These tasks wait for each other: ${shown.join(" → ")}.`,
    spot: spotOf(subject, first, field, at),
  };
}

/** How many pairs are named; the rest are counted. */
const HAZARDS_SHOWN_MAX = 50;

/** Tasks that touch the same files without one waiting for the other. Only for a graph without circles and gaps. */
export function checkHazards(subject: Subject, isStrict: boolean, findings: Findings): void {
  if (!subject.tasks.some(({ writes }) => writes.length > 0)) return;
  const severity = isStrict ? "error" : "warning";
  const { hazards, isPartial } = findHazards(subject.tasks, subject.graph, topologicalOrder(subject.graph));
  for (const hazard of hazards.slice(0, HAZARDS_SHOWN_MAX)) {
    findings.add({ code: "PLAN_HAZARD", severity, ...hazardText(subject, hazard) });
  }
  const left = hazards.length - HAZARDS_SHOWN_MAX;
  const spot: Finding["spot"] = { path: ["tasks"], at: "key" };
  if (left > 0) {
    const message = `${left} more pairs of tasks touch the same files, and neither waits for the other.`;
    findings.add({ code: "PLAN_HAZARD", severity, message, spot });
  }
  if (isPartial) {
    const message = "There are too many tasks that touch the same files to compare all of them.";
    findings.add({ code: "PLAN_HAZARD_LIMIT", message, spot });
  }
}

/** Reported at the task that comes later in the plan. */
function hazardText(subject: Subject, { a, b, aPath, bPath }: Hazard): Pick<Finding, "message" | "spot"> {
  const [one, other] = [subject.tasks[a] as TaskSpec, subject.tasks[b] as TaskSpec];
  const [oneWrites, otherWrites] = [one.writes.includes(aPath), other.writes.includes(bPath)];
  const field = otherWrites ? "writes" : "reads";
  const spot = spotOf({ ...subject, isAsWritten: true }, b, field, other[field].indexOf(bPath));
  const verb = (writes: boolean): string => (writes ? "writes" : "reads");
  const what = `${one.id} ${verb(oneWrites)} ${shorten(aPath)} and ${other.id} ${verb(otherWrites)} ${shorten(bPath)}`;
  return { message: `${what}, and neither waits for the other.`, spot };
}
