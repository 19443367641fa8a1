/** A plan as it would be written: the inverse of reading one, so that a plan that was kept is read, and judged, like any other. */
import {
  type Amounts,
  type Command,
  functionCapability,
  LOCAL_POOL,
  type Rate,
  type Rates,
  RETRY_DEFAULT,
  type RetryPolicy,
  SPEC_DEFAULTS,
  type TaskSpec,
  type Work,
} from "../domain/spec.ts";
import { parseDuration } from "../domain/time.ts";
import type { Plan } from "./plan.ts";

export type Written = Readonly<Record<string, unknown>>;

/** Without the descriptions that are for the readers of the file alone. */
export function writePlan(plan: Pick<Plan, "name" | "resources" | "rates" | "weight" | "tenant" | "tasks">): Written {
  const { name, weight, tenant, tasks } = plan;
  const resources = { ...writeAmounts(plan.resources), ...writeRates(plan.rates) };
  return {
    name,
    ...(weight !== undefined && { weight }),
    ...(tenant !== undefined && { tenant }),
    ...(Object.keys(resources).length > 0 && { resources }),
    tasks: tasks.map(writeTask),
  };
}

/** The fields that are written in a plan as they are in a task. */
const AS_THEY_ARE = [
  "title",
  "needs",
  "after",
  "onFailure",
  "priority",
  "workspace",
  "channel",
  "session",
  "provider",
  "reads",
  "writes",
  "env",
  "cwd",
  "gate",
  "idempotencyKey",
  "labels",
] as const satisfies readonly (keyof TaskSpec)[];

function writeTask(spec: TaskSpec): Written {
  const { id, run, pool = LOCAL_POOL, resources, retry, timeout, progress, estimate, verify, memoryLimit } = spec;
  const defaults: Partial<Record<keyof TaskSpec, unknown>> = SPEC_DEFAULTS;
  const requires =
    "call" in run ? spec.requires.filter((each) => each !== functionCapability(run.call)) : spec.requires;
  const same = AS_THEY_ARE.flatMap((field) =>
    spec[field] === undefined || isSame(spec[field], defaults[field]) ? [] : [[field, spec[field]]],
  );
  return {
    id,
    ...writeWork(run),
    ...(pool !== LOCAL_POOL && { pool }),
    ...Object.fromEntries(same),
    ...(requires.length > 0 && { requires }),
    ...(Object.keys(resources).length > 0 && { resources: writeAmounts(resources) }),
    // What agents do is tried more often than what commands do, unless the plan says how often.
    ...((!isSame(retry, RETRY_DEFAULT) || "prompt" in run) && { retry: writeRetry(retry) }),
    ...(!isSame(timeout, SPEC_DEFAULTS.timeout) && { timeout: writeSpans(timeout) }),
    ...writeSpans({ progress, estimate }),
    ...(verify !== undefined && { verify: writeCommand(verify) }),
    ...(memoryLimit !== undefined && { limits: { memory: `${memoryLimit}B` } }),
  };
}

/** A function has no way to be written in a plan: its name stands for it, as a program that no machine has. */
function writeWork(work: Work): Written {
  if ("prompt" in work) return { prompt: work.prompt };
  return { run: "call" in work ? [functionCapability(work.call)] : writeCommand(work) };
}

const isSame = (value: unknown, fallback: unknown): boolean =>
  value === fallback || JSON.stringify(value) === JSON.stringify(fallback);

const writeCommand = (command: Command): string | readonly string[] =>
  "shell" in command ? command.shell : command.argv;

const writeRetry = ({ attempts, factor, on, backoff, max }: RetryPolicy): Written => ({
  attempts,
  ...writeSpans({ backoff, max }),
  factor,
  on,
});

const writeSpans = (spans: Readonly<Record<string, number | undefined>> | TaskSpec["timeout"]): Written =>
  Object.fromEntries(Object.entries(spans).flatMap(([name, ms]) => (ms === undefined ? [] : [[name, `${ms}ms`]])));

function writeAmounts(amounts: Amounts): Written {
  const unit: Readonly<Record<string, string>> = { cpu: "m", memory: "B" };
  return Object.fromEntries(
    Object.entries(amounts).map(([name, amount]) => [
      name,
      Object.hasOwn(unit, name) ? `${amount}${unit[name]}` : amount,
    ]),
  );
}

const writeRates = (rates: Rates): Written =>
  Object.fromEntries(Object.entries(rates).map(([name, rate]) => [name, writeRate(rate)]));

/** A rate is written for one of these spans, and kept with it. */
const PERIODS = { s: "1s", min: "1m", h: "1h", d: "1d" } as const;
const writeRate = ({ amount, per }: Rate): string => {
  const period = Object.entries(PERIODS).find(([, span]) => parseDuration(span) === per);
  return `${amount}/${period?.[0]}`;
};
