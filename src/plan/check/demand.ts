/** Says which requests of a plan can never be met, by the plan itself or by the machine it is checked for. */
import type { TaskNo } from "../../domain/graph.ts";
import { type Amounts, functionCapability, type Rates, SPEC_DEFAULTS, type TaskSpec } from "../../domain/spec.ts";
import type { Path } from "../../std/problems.ts";
import { didYouMean } from "../../std/schema.ts";
import type { Finding, Findings } from "./diagnostics.ts";
import { describeImpossible, impossible, impossibleByItself } from "./resources.ts";
import type { Subject } from "./validate.ts";

interface Capacity {
  readonly capacity?: Amounts;
  readonly capabilities?: readonly string[];
}
interface Head {
  readonly resources: Amounts;
  readonly rates: Rates;
}

export function checkDemand(subject: Subject, head: Head, available: Capacity, findings: Findings): void {
  const { capacity, capabilities } = available;
  const plan = { tasks: subject.tasks, resources: head.resources, rates: head.rates };
  const found = capacity === undefined ? impossibleByItself(plan) : impossible(plan, capacity);
  const known = [...Object.keys(head.resources), ...Object.keys(head.rates), ...Object.keys(capacity ?? {})];
  for (const request of found) {
    const { task, resource } = request;
    findings.add({
      code: "PLAN_IMPOSSIBLE",
      message: `${(subject.tasks[task] as TaskSpec).id} ${describeImpossible(request)}.`,
      spot: { path: ["tasks", subject.originOf(task), "resources", resource], at: "value" },
      hint: known.includes(resource) || findings.isFull ? undefined : didYouMean(resource, known),
    });
  }
  if (capabilities !== undefined) checkCapabilities(subject, new Set(capabilities), findings);
}

function checkCapabilities(subject: Subject, capabilities: ReadonlySet<string>, findings: Findings): void {
  for (const [no, { id, requires, pool, run }] of subject.tasks.entries()) {
    // Sessions come and go, each with capabilities of its own.
    if (requires === SPEC_DEFAULTS.requires || pool !== undefined) continue;
    const own = "call" in run ? functionCapability(run.call) : undefined;
    for (const [at, capability] of requires.entries()) {
      if (capabilities.has(capability)) continue;
      if (capability === own && "call" in run) {
        findings.add(noFunction(id, run.call, ["tasks", subject.originOf(no as TaskNo), "call"]));
        continue;
      }
      findings.add({
        code: "PLAN_IMPOSSIBLE",
        message: `${id} requires "${capability}", which no worker has.`,
        spot: { path: ["tasks", subject.originOf(no as TaskNo), "requires", at], at: "value" },
        hint: didYouMean(capability, capabilities) ?? "Add the capability to a worker, or remove it here.",
      });
    }
  }
}

const noFunction = (id: string, name: string, path: Path): Finding => ({
  code: "PLAN_IMPOSSIBLE",
  message: `${id} calls the function "${name}", which is not here.`,
  spot: { path, at: "value" },
  hint: "Run the plan from the program that has the function, and give it there under `functions` (docs/guides/library.md).",
});
