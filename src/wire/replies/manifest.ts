/** A run as one document: the plan, how each task stands, and everything that happened. */
import { RUN_OUTCOMES } from "../../domain/run.ts";
import { TASK_STATES } from "../../domain/task.ts";
import { anything, type Infer, integer, list, nullable, oneOf } from "../../std/schema.ts";
import { object, record } from "../../std/schema-maps.ts";
import { OUTCOME } from "./attempt.ts";
import { count, names, time, words } from "./words.ts";

/** Grows when an older program could no longer read what a newer one writes. */
export const MANIFEST_FORMAT = 1;

const anyKey = { accepts: () => true, expects: "any name", pattern: "" };

export const MANIFEST = object({
  manifest: integer({ min: 1 }).describe("The version of this format."),
  rota: words().describe("The version of Rota that wrote it."),
  at: time().describe("When it was written."),
  run: object({
    id: words(),
    no: integer({ min: 1 }).describe("Its number in its state directory, by which events may name it."),
    state: oneOf(["active", "stalled", "finished"]),
    outcome: nullable(oneOf(RUN_OUTCOMES)),
    submitted_at: time(),
    ended_at: nullable(time()),
    directory: words(),
    file: words(),
    digest: words().describe("Of the plan's file."),
    seed: integer(),
    only: names().optional().describe("The tasks that the run was limited to, with what they need."),
    carried: names().optional().describe("Tasks that an earlier run had already done."),
    retry_of: words().optional(),
  }),
  plan: record(anyKey, anything()).describe(
    "The plan, as `rota schema` describes it: with what the run was edited to.",
  ),
  tasks: list(
    object({
      task: words(),
      state: oneOf(TASK_STATES),
      attempts: count().describe("How often it was claimed."),
      failures: count(),
      expiries: count(),
      outcome: OUTCOME.optional(),
      ended_at: time().optional(),
    }),
  ).describe("How each task stands, in the order of the plan."),
  events: list(record(anyKey, anything())).describe(
    "The ledger of the run, oldest first, with the sessions and pauses that concern it: what `rota doctor --manifest` replays.",
  ),
});
export type ManifestReply = Infer<typeof MANIFEST>;
