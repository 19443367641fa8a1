/** The tools for runs as a whole: submit one, look at it, step in. */
import { UserError } from "../domain/errors.ts";
import { boolean, integer, isMap, string } from "../std/schema.ts";
import { object } from "../std/schema-maps.ts";
import { plural } from "../views/text/moment.ts";
import { CANCEL, EVENTS, HEARTBEAT, PAUSE, SUBMIT, type SubmitRequest } from "../wire/messages.ts";
import { bounded, moreText, overviewText, statusText, whyText } from "./present.ts";
import { type Annotations, answer, type ToolContext, tool } from "./tool.ts";

const word = () => string({ max: 64 * 1024 });

const LIMIT_DEFAULT = 20;
const LIMIT_MAX = 500;
const RUNS_SHOWN = 10;
const limit = (fallback: number) =>
  integer({ min: 1, max: LIMIT_MAX }).default(fallback).describe("The most that is listed of anything.");

const reading = (title: string): Annotations => ({
  title,
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
});
const changing = (title: string, rest: Partial<Annotations> = {}): Annotations => ({
  ...reading(title),
  readOnlyHint: false,
  ...rest,
});

export const submit = tool({
  name: "submit",
  description:
    "Start a run from a plan: give its `text` (YAML or JSON), or the `path` of a file. Use it to queue work for yourself or others; " +
    "commands in the plan will be run on this machine. Give a `key` when you might have to send it again. " +
    "Then `claim_next` to work on it, or `status` with the run to watch it. A plan that is not valid is refused with what is wrong.",
  annotations: changing("Submit a plan", { idempotentHint: false, openWorldHint: true }),
  scope: "admin",
  input: object(
    {
      text: SUBMIT.fields.text.optional().describe("The plan itself, YAML or JSON."),
      path: SUBMIT.fields.file.optional().describe("A file that holds the plan."),
      directory: SUBMIT.fields.directory
        .optional()
        .describe("Absolute: commands and paths of the plan are relative to it. That of the file, or the current one."),
      key: SUBMIT.fields.key,
    },
    { name: "submit" },
  ),
  output: answer({ run: word(), tasks: integer({ min: 0 }) }),
  async call({ text, path, directory, key }, context) {
    const plan = await planOf({ text, path, directory }, context);
    const { service, caller } = context;
    const submitted = await service.submit({ ...plan, ...(key !== undefined && { key }) }, caller);
    const began = submitted.repeated ? "had been submitted before" : "has begun";
    return {
      text: `Run ${submitted.run} ${began}, with ${plural(submitted.tasks, "task")}. \`claim_next\` works on it, \`status\` shows it.`,
      data: { ...submitted, next: "`claim_next` works on it, `status` shows it." },
    };
  },
});

async function planOf(
  asked: {
    readonly text: string | undefined;
    readonly path: string | undefined;
    readonly directory: string | undefined;
  },
  { readPlan, directory: here }: ToolContext,
): Promise<Omit<SubmitRequest, "key">> {
  const { text, path, directory } = asked;
  if (path !== undefined && text === undefined) {
    const plan = await readPlan(path);
    return directory === undefined ? plan : { ...plan, directory };
  }
  if (text === undefined || path !== undefined)
    throw new UserError("USAGE", "A plan is given either as `text` or as `path`.", { hint: "Give one of the two." });
  const where = directory ?? here;
  if (where === undefined)
    throw new UserError("USAGE", "It is not known where the plan's commands belong.", {
      hint: "Give `directory`, absolute.",
    });
  return { text, file: "plan.yaml", directory: where };
}

export const status = tool({
  name: "status",
  description:
    "See what is going on. Without a run: how much is queued, what is on hold, the newest runs, and what you hold. " +
    "With a run (its id, the start of it, or `last`): its tasks by state, what runs, what waits for what, what failed.",
  annotations: reading("Show the status"),
  scope: "read",
  input: object({ run: CANCEL.fields.run, limit: limit(LIMIT_DEFAULT) }, { name: "status" }),
  output: answer({ run: word().optional(), state: word().optional() }),
  call: ({ run, limit }, context) => (run === undefined ? overview(context) : statusOf(run, limit, context)),
});

async function overview({ service, agent }: ToolContext) {
  // One more than is shown tells whether there are others.
  const [info, runs] = await Promise.all([service.info(), service.runs({ limit: RUNS_SHOWN + 1 })]);
  const shown = runs.slice(0, RUNS_SHOWN);
  const held = agent.holds.list();
  const { queued, out, parked, sessions, workers, last_seq, paused } = info;
  const mine = held.map(
    ({ task, run, lease_until }) => `You hold ${task} (run ${run}); its lease holds until ${lease_until}.`,
  );
  return {
    text: [overviewText(info, runs, shown), ...mine].join("\n"),
    data: {
      queued,
      out,
      parked,
      sessions,
      workers,
      last_seq,
      paused,
      runs: shown,
      runs_more: runs.length > shown.length,
      held,
    },
  };
}

async function statusOf(run: string, max: number, { service }: ToolContext) {
  return shortened(await service.status(run), max, statusText);
}

function shortened(whole: object, max: number, textOf: (value: unknown) => string) {
  const { value, cuts } = bounded(whole, max);
  return {
    text: [textOf(value), ...moreText(cuts)].join("\n"),
    data: { ...(isMap(value) ? value : {}), ...(cuts.length > 0 && { cut: cuts }) },
  };
}

export const why = tool({
  name: "why",
  description:
    "Ask why one task is where it is: what it waits for, with the numbers, or how it ended. Use it when a task you expect does not come, " +
    "or to see why one failed.",
  annotations: reading("Explain a task"),
  scope: "read",
  input: object(
    {
      task: EVENTS.fields.task.describe("The id of the task; the one you hold when left out."),
      run: EVENTS.fields.run,
      limit: limit(LIMIT_DEFAULT),
    },
    { name: "why" },
  ),
  output: answer({ task: word().optional(), state: word().optional() }),
  async call({ task, run, limit }, { service, agent }) {
    const about = task ?? agent.holds.find({}).task;
    return shortened(await service.why(run, about), limit, whyText);
  },
});

export const events = tool({
  name: "events",
  description:
    "Read what happened, oldest first, one event a line. Narrow it to a run or a task. Go on from the `last_seq` of the answer with `after`; " +
    "`status` has the newest position, if only what comes from now on is of interest.",
  annotations: reading("Read the ledger"),
  scope: "read",
  input: object(
    { run: EVENTS.fields.run, task: EVENTS.fields.task, after: EVENTS.fields.after, limit: limit(50) },
    { name: "events" },
  ),
  output: answer({
    last_seq: integer({ min: 0 }).describe("Give it as `after` to go on."),
    more: word().optional().describe("Present when there are more."),
  }),
  async call({ limit, after, run, task }, { service }) {
    const scope = { ...(run !== undefined && { run }), ...(task !== undefined && { task }) };
    // One more than is shown says whether there are more.
    const found = await service.events({ ...scope, after, limit: limit + 1, follow: false });
    const shown = found.slice(0, limit).map((event) => bounded(event, LIMIT_DEFAULT).value);
    const last = found.slice(0, limit).at(-1)?.seq ?? after;
    const more = found.length > limit ? `There are more: call \`events\` with after=${last}.` : undefined;
    return {
      text: [
        ...shown.map((event) => JSON.stringify(event)),
        ...(shown.length === 0 ? [`No events after ${after}.`] : []),
        ...(more === undefined ? [] : [more]),
      ].join("\n"),
      data: { events: shown, last_seq: last, ...(more !== undefined && { more }) },
    };
  },
});

export const cancel = tool({
  name: "cancel",
  description:
    "Cancel a task of a run, or the whole run: what runs is stopped, what depends on it is skipped, and it is not tried again. " +
    "Only when you were asked to. To give up your own task, use `fail` or `release`.",
  annotations: changing("Cancel", { destructiveHint: true }),
  scope: "admin",
  input: object(
    {
      run: HEARTBEAT.fields.run.describe("The run: its id, the start of it, or `last`."),
      task: CANCEL.fields.task,
      why: CANCEL.fields.why,
    },
    { name: "cancel" },
  ),
  output: answer({ run: word(), answer: word() }),
  async call(asked, { service, caller }) {
    const done = await service.cancel(asked, caller);
    const what = done.task === undefined ? `Run ${done.run}` : `${done.task} (run ${done.run})`;
    return {
      text: `${what} ${done.answer === "done" ? "is cancelled" : "is being stopped"}.`,
      data: { ...done },
    };
  },
});

export const pause = tool({
  name: "pause",
  description:
    "Put a pool, a run or a task (with its run) on hold, or everything when none is named: nothing new starts, what runs goes on. " +
    "Only when you were asked to. `resume` ends it.",
  annotations: changing("Put on hold"),
  scope: "admin",
  input: object(PAUSE.fields, { name: "pause" }),
  output: answer({ of: word() }),
  async call(asked, { service, caller }) {
    const paused = await service.pause(asked, caller);
    const what = paused.task ?? paused.run ?? paused.pool;
    return { text: `On hold: ${what === undefined ? "everything" : `${paused.of} ${what}`}.`, data: { ...paused } };
  },
});

export const resume = tool({
  name: "resume",
  description: "End a `pause` of the same pool, run, task, or of everything when none is named.",
  annotations: changing("Go on"),
  scope: "admin",
  input: object(PAUSE.fields, { name: "resume" }),
  output: answer({ resumed: boolean() }),
  async call(asked, { service, caller }) {
    const { resumed } = await service.resume(asked, caller);
    return { text: resumed ? "It goes on." : "It was not on hold.", data: { resumed } };
  },
});
