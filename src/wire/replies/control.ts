/** The results of what a person asked for. */
import { boolean, type Infer, list, oneOf } from "../../std/schema.ts";
import { object } from "../../std/schema-maps.ts";
import { asked, time, words } from "./words.ts";

export const PAUSED = object({
  of: oneOf(["scheduler", "pool", "run", "task"]),
  pool: words().optional(),
  run: words().optional(),
  task: words().optional(),
  ...asked,
  at: time(),
});
export type PauseReply = Infer<typeof PAUSED>;

export const RESUMED = object({ resumed: boolean().describe("Whether it was on hold at all.") });

export const DRAINED = object({
  drained: boolean().describe("Nothing is out any more."),
  remaining: list(object({ run: words(), task: words(), worker: words() })),
});
export type DrainReply = Infer<typeof DRAINED>;

export const DONE = object({
  run: words(),
  task: words().optional(),
  answer: oneOf(["done", "underway"]).describe("`underway`: what runs is being stopped."),
});
export type Done = Infer<typeof DONE>;
