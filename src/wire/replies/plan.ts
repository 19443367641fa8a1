/** Replies about a plan that is not run: what is wrong with it, and how long it would take. */
import { boolean, type Infer, list, nullable, number, oneOf } from "../../std/schema.ts";
import { object } from "../../std/schema-maps.ts";
import { count, names, words } from "./words.ts";

const diagnostics = () =>
  list(
    object({
      code: words(),
      severity: oneOf(["error", "warning"]),
      message: words(),
      file: words(),
      line: count(),
      column: count(),
      hint: words(),
    }),
  );

export const DIAGNOSTICS = object({ diagnostics: diagnostics() });

/** What every refusal looks like. */
export const REFUSAL = object({
  error: object({
    code: words().describe("Stable: programs may rely on it."),
    message: words(),
    hint: words().describe("What to do about it."),
    diagnostics: diagnostics().optional().describe("For a plan that is not valid: everything that is wrong with it."),
  }),
});

const figures = {
  makespan_ms: nullable(number()).describe("Null when some task could never start."),
  lower_bound_ms: nullable(number()),
  lower_bound_because: nullable(words()),
  use: nullable(number()).describe("The share of the workers' time that is worked, from 0 to 1."),
  stalled: list(object({ task: words(), reason: words(), why: words() }))
    .optional()
    .describe("What could never start."),
} as const;
const use = nullable(number());

export const SIMULATION = object({
  ...figures,
  critical_path: names(),
  schedule: list(object({ task: words(), worker: words(), start_ms: number(), end_ms: number() })),
  workers: list(object({ worker: words(), pool: words().optional(), tasks: count(), busy_ms: number(), use })),
  resources: list(object({ name: words(), capacity: number(), per_ms: number().optional(), use })),
  durations: object({ actual: count(), estimate: count(), history: count(), unknown: count() }).describe(
    "How many durations come from where.",
  ),
  over_timeout: names(),
  variants: list(object({ what_if: words(), ...figures, change_percent: nullable(number()) })),
});
export type SimulationReply = Infer<typeof SIMULATION>;
export type FiguresReply = Omit<SimulationReply["variants"][number], "what_if" | "change_percent">;

export const DRY_RUN = object({
  name: words(),
  file: words(),
  workers: count(),
  only: names().optional().describe("The tasks that it is limited to, with what they need."),
  resumes: nullable(words()).describe("The run that would be gone on with; null for a new one."),
  tasks: list(
    object({
      task: words(),
      wave: count().describe("One more than that of the last task it waits for, from 1."),
      pool: words().describe("`local` for this machine's own processes."),
      directory: words(),
      waits_for: names(),
      gate: words().optional(),
    }),
  ).describe("By wave, and within one in the order in which the scheduler would begin them."),
});
export type DryRunReply = Infer<typeof DRY_RUN>;

export const HEALTH = object({
  ok: boolean(),
  findings: list(
    object({
      check: words(),
      health: oneOf(["ok", "info", "warning", "problem"]).describe(
        "`problem`: something is wrong and will hurt. `warning`: look at it. `info`: good to know.",
      ),
      message: words(),
      hint: words().optional().describe("What to do, where something is to be done."),
    }),
  ),
});
export type Health = Infer<typeof HEALTH>;
