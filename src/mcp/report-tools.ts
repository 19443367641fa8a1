/** The tools with which an agent reports on a task that it holds. */
import { boolean, integer, string } from "../std/schema.ts";
import { object } from "../std/schema-maps.ts";
import type { LeaseReply, Settled } from "../wire/answers.ts";
import { BEAT, COMPLETE, FAIL, HEARTBEAT, type LeaseRequest, PROGRESS, RELEASE } from "../wire/messages.ts";
import type { Agent } from "./agent.ts";
import { type AskedLease, isOver, stopText } from "./holds.ts";
import { type Annotations, answer, type ToolContext, type ToolReply, tool } from "./tool.ts";

/** What names a lease. Nothing of it is needed while only one task is held here. */
const LEASE = {
  task: HEARTBEAT.fields.task.optional().describe("The task; needed only when several are held here."),
  run: HEARTBEAT.fields.run.optional().describe("Its run, as it stood in the grant."),
  fence: HEARTBEAT.fields.fence.optional().describe("The fence of the grant; needed only after a reconnect."),
  token: HEARTBEAT.fields.token.optional().describe("The token of the grant; needed only after a reconnect."),
};

const word = () => string({ max: 64 * 1024 });
const RENEWED = answer({
  run: word().optional(),
  task: word().optional(),
  fence: integer().optional(),
  lease_until: word()
    .optional()
    .describe("When the lease runs out unless it is renewed. The work itself may take longer."),
  stop: object({ kind: word(), why: word().optional(), by: word() })
    .optional()
    .describe("The task is to be stopped: wind down, and report by then."),
});
const SETTLED = answer({
  run: word(),
  task: word(),
  fence: integer(),
  state: word().describe("The state of the task now: `ready` when it will be tried again."),
  repeated: boolean().describe("The same report had been taken before; nothing changed."),
});

/** A report can be sent twice without harm, and destroys nothing: what it says is kept. */
const report = (title: string, rest: Partial<Annotations> = {}): Annotations => ({
  title,
  readOnlyHint: false,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
  ...rest,
});

export const heartbeat = tool({
  name: "heartbeat",
  description:
    "Say that you are still at work. Needed at least every ttl/2 where the lease is not renewed for you, and after a reconnect, with " +
    "run, task, fence and token, to take a task up again. The answer says when the task should be stopped. " +
    "Without a task it is a sign of life for the session; with `state` it also says how you are.",
  annotations: report("Renew the lease"),
  scope: "work",
  input: object({ ...LEASE, state: BEAT.fields.state }, { name: "heartbeat" }),
  output: RENEWED,
  async call({ state, ...asked }, context) {
    const { agent, service, caller } = context;
    const named = Object.keys(asked).length > 0 || agent.holds.size > 0;
    if (state !== undefined || !named)
      await agent.inSession(({ session }) => service.beat(session, state === undefined ? {} : { state }, caller));
    if (!named) return { text: `Noted. No task is held here. ${CLAIM_NEXT}`, data: { next: CLAIM_NEXT } };
    return renewed(await onLease(asked, context, (lease) => service.heartbeat(lease, caller)), agent);
  },
});

export const progress = tool({
  name: "progress",
  description:
    "Say in a sentence what you are doing, for the people who look. It renews the lease as `heartbeat` does. Use it at each step of longer work.",
  annotations: report("Report progress", { idempotentHint: false }),
  scope: "work",
  input: object({ note: PROGRESS.fields.note, ...LEASE }, { name: "progress" }),
  output: RENEWED,
  call: async ({ note, ...asked }, context) =>
    renewed(
      await onLease(asked, context, (lease) => context.service.progress({ ...lease, note }, context.caller)),
      context.agent,
    ),
});

export const complete = tool({
  name: "complete",
  description:
    "Report that the task you hold is done, with a summary of what came of it. Use it once the work is finished and checked; then " +
    "`claim_next`. It may be sent again when no answer came.",
  annotations: report("Complete the task"),
  scope: "work",
  input: object({ summary: COMPLETE.fields.summary, ...LEASE }, { name: "complete" }),
  output: SETTLED,
  call: ({ summary, ...asked }, context) =>
    settle(asked, context, (lease) =>
      context.service.complete({ ...lease, ...(summary !== undefined && { summary }) }, context.caller),
    ),
});

export const fail = tool({
  name: "fail",
  description:
    "Report that the task you hold could not be done, and how it failed. Whether it is tried again is the scheduler's to decide. " +
    "`kind` is `exit` for a command that failed, `refused` for something you may not or will not do, `rate-limit` with `resetMs`, and so on. " +
    "If it did not fail but is not for you, use `release`.",
  annotations: report("Report a failure"),
  scope: "work",
  input: object(
    {
      kind: FAIL.fields.kind,
      code: FAIL.fields.code,
      message: FAIL.fields.message.describe("What went wrong, for the person who has to mend it."),
      resetMs: FAIL.fields.resetMs,
      ...LEASE,
    },
    { name: "fail" },
  ),
  output: SETTLED,
  call: ({ kind, code, message, resetMs, ...asked }, context) =>
    settle(asked, context, (lease) => {
      const rest = { ...(message !== undefined && { message }), ...(resetMs !== undefined && { resetMs }) };
      return context.service.fail({ ...lease, kind, code, ...rest }, context.caller);
    }),
});

export const release = tool({
  name: "release",
  description:
    "Hand the task back undone: another session gets it, and it costs none of its attempts. Use it when you cannot go on for reasons that " +
    "are not the task's. Leave no half-done changes in the files it writes.",
  annotations: report("Hand the task back"),
  scope: "work",
  input: object({ why: RELEASE.fields.why, ...LEASE }, { name: "release" }),
  output: SETTLED,
  call: ({ why, ...asked }, context) =>
    settle(asked, context, (lease) =>
      context.service.release({ ...lease, ...(why !== undefined && { why }) }, context.caller),
    ),
});

const CLAIM_NEXT = "Get the next task with `claim_next`.";

async function onLease(
  asked: AskedLease,
  context: ToolContext,
  send: (lease: LeaseRequest) => Promise<LeaseReply>,
): Promise<LeaseReply> {
  const lease = context.agent.holds.find(asked);
  const reply = await sendOn(lease, context, send);
  context.agent.holds.note(lease, reply);
  return reply;
}

/** What is over is held no longer: the refusal itself says so. */
async function sendOn<T>(
  lease: LeaseRequest,
  { agent }: ToolContext,
  send: (lease: LeaseRequest) => Promise<T>,
): Promise<T> {
  try {
    return await send(lease);
  } catch (error) {
    if (isOver(error)) agent.holds.drop(lease);
    throw error;
  }
}

/** An agent that is to stop is told so by a notice, which comes with every answer; without a memory there are no notices. */
function renewed({ deadline, stop, ...lease }: LeaseReply, { remembers }: Agent): ToolReply {
  const { task } = lease;
  if (stop === undefined) {
    const next = "Go on.";
    return {
      text: `The lease of ${task} is renewed until ${deadline}. ${next}`,
      data: { ...lease, lease_until: deadline, next },
    };
  }
  const next = remembers ? "Stop, as the notice says." : `Stop working on ${task}: ${stopText(stop, deadline)}`;
  return { text: next, data: { ...lease, stop: { ...stop, by: stop.by ?? deadline }, next } };
}

/** The lease is forgotten only when the report was accepted: a report that did not get through can be sent again. */
async function settle(
  asked: AskedLease,
  context: ToolContext,
  send: (lease: LeaseRequest) => Promise<Settled>,
): Promise<ToolReply> {
  const lease = context.agent.holds.findToEnd(asked);
  const settled = await sendOn(lease, context, send);
  context.agent.holds.settled(lease);
  const again = settled.repeated ? " (as it was reported before)" : "";
  return {
    text: `${settled.task} is ${settled.state}${again}. ${CLAIM_NEXT}`,
    data: { ...settled, next: CLAIM_NEXT },
  };
}
