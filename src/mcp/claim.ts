/** The tool `claim_next`: joins if need be, waits, claims, and says that the work has begun. */
import { UserError } from "../domain/errors.ts";
import { later, millis } from "../domain/time.ts";
import type { Timer } from "../effects/clock.ts";
import { boolean, type Infer, integer, list, string } from "../std/schema.ts";
import { object } from "../std/schema-maps.ts";
import { neutralize } from "../views/text/text.ts";
import type { DaemonInfo, Grant, SessionReply } from "../wire/answers.ts";
import { CLAIM, type LeaseRequest, WAIT_MAX } from "../wire/messages.ts";
import { PREVIOUS } from "../wire/replies/lease.ts";
import { grantData, grantText } from "./present.ts";
import { answer, type ToolContext, type ToolReply, tool } from "./tool.ts";

/** Below the time-out that clients commonly have for a call. */
const WAIT_DEFAULT = 30_000;
/** How often a call that waits says that it still does. */
const REPORT_EVERY = 10_000;
/** The most pools that are named. */
const POOLS_MAX = 10;

const { run, task, priority, key } = CLAIM.fields;
const ASKED = object(
  {
    run,
    task,
    priority,
    key,
    waitMs: integer({ min: 0, max: WAIT_MAX })
      .default(WAIT_DEFAULT)
      .describe("How long to wait for a task, in milliseconds. Keep it below your client's time-out for a call."),
    session: CLAIM.fields.session
      .optional()
      .describe("Only to work as a session that an earlier claim named. Left out, this connection's own is used."),
  },
  { name: "claim_next" },
);
type Asked = Infer<typeof ASKED>;

const text = () => string({ max: 64 * 1024 * 1024 });

export const claimNext = tool({
  name: "claim_next",
  description:
    "Get the next task to work on, waiting for one if need be. Use it when you are free, and again after each `complete`, `fail` or `release`. " +
    "The answer says what to do (`prompt` or `command`), where (`directory`), and which files are yours to write (`writes`). " +
    "Keep run, task, fence and token. End with `complete` or `fail`, or `release` what you cannot do. " +
    "The answer also says whether the lease is renewed for you, or how often to send `heartbeat`. " +
    "When nothing was claimed, call it again, or ask `status` what is going on.",
  annotations: {
    title: "Claim the next task",
    readOnlyHint: false,
    destructiveHint: false,
    idempotentHint: false,
    openWorldHint: false,
  },
  scope: "work",
  input: ASKED,
  output: answer({
    claimed: boolean(),
    session: text().optional().describe("The session that claimed."),
    pool: text().optional().describe("Its pool, when nothing was claimed."),
    ready: list(object({ pool: text(), ready: integer() }))
      .optional()
      .describe("The pools that have ready tasks."),
    run: text().optional(),
    task: text().optional(),
    attempt: integer().optional(),
    fence: integer().optional(),
    token: text().optional().describe("Proves that the lease is yours. Keep it, and show it to no other agent."),
    lease_until: text()
      .optional()
      .describe("When the lease runs out unless it is renewed. The work itself may take longer."),
    ttl_ms: integer().optional(),
    prompt: text().optional().describe("What the plan asks for. Nothing in it comes from this server."),
    prompt_file: text().optional().describe("A file with the prompt, where that is long. Read all of it."),
    prompt_begins: text().optional(),
    previous: PREVIOUS.optional().describe("The attempt before this one, if there was one."),
    directory: text().optional(),
    writes: list(text()).optional(),
  }),
  call: claim,
});

async function claim(asked: Asked, context: ToolContext): Promise<ToolReply> {
  const waiting = reportWaiting(asked.waitMs, context);
  try {
    if (asked.session !== undefined)
      return await replyTo(await take(asked, asked.session, "pull", context), { session: asked.session });
    return await context.agent.inSession(async (joined) =>
      replyTo(await take(asked, joined.session, joined.mode, context), joined),
    );
  } finally {
    waiting.cancel();
  }

  async function replyTo(grant: Grant | undefined, who: Who): Promise<ToolReply> {
    const { remembers } = context.agent;
    if (grant !== undefined) return given(grant, who.session, remembers);
    const isNamed = remembers || asked.session !== undefined;
    return nothing(asked.waitMs, who, isNamed, await readyPools(context));
  }
}

/** The session that claims, and its pool where that is known here. */
type Who = Pick<SessionReply, "session"> & Partial<Pick<SessionReply, "pool">>;
type ReadyPool = Pick<DaemonInfo["pools"][number], "pool" | "ready">;

/** The pools of sessions in which something is ready. An answer that does not come is not waited for by an agent that has nothing to do. */
async function readyPools({ service }: ToolContext): Promise<readonly ReadyPool[]> {
  const info = await service.info().catch(() => undefined);
  return info?.pools?.filter(({ ready }) => ready > 0).map(({ pool, ready }) => ({ pool, ready })) ?? [];
}

/** Claims one task, in the way of the session's pool, and begins it. */
async function take(
  asked: Asked,
  session: string,
  mode: SessionReply["mode"],
  context: ToolContext,
): Promise<Grant | undefined> {
  const { service, caller, agent, signal } = context;
  const { session: _, ...request } = asked;
  const assigned = (): Promise<Grant | undefined> => service.assignment(session, asked.waitMs, caller);
  const grant =
    mode === "push"
      ? await assigned()
      : await service.claim({ ...request, session }, caller).catch((error: unknown) => {
          // The pool of a session that came from elsewhere may assign its work.
          if (error instanceof UserError && error.code === "SELF_CLAIM_DISABLED") return assigned();
          throw error;
        });
  if (grant === undefined || agent.holds.has(grant)) return grant;
  agent.claimed();
  // The client has gone, and no other session knows of this task. With a key the client can ask for it again.
  if (signal.aborted && asked.key === undefined) await giveBack(grant, context);
  signal.throwIfAborted();
  await begin(grant, context);
  if (signal.aborted && asked.key === undefined) {
    agent.holds.drop(grant);
    await giveBack(grant, context);
  }
  return grant;
}

async function begin(grant: Grant, context: ToolContext): Promise<void> {
  const { service, agent } = context;
  const lease = leaseOf(grant);
  try {
    agent.holds.note(lease, await service.start(lease, agent.caller()), millis(grant.ttl_ms));
  } catch (error) {
    await giveBack(grant, context);
    throw error;
  }
}

/** As well as can be: what does not get through is settled by the end of the lease. */
async function giveBack(grant: Grant, { service, agent }: ToolContext): Promise<void> {
  const why = "The call that claimed it was given up before the task could be handed over.";
  await service.release({ ...leaseOf(grant), why }, agent.caller()).catch(() => undefined);
}

const leaseOf = ({ run, task, fence, token }: Grant): LeaseRequest => ({ run, task, fence, token });

function given(grant: Grant, session: string, renewed: boolean): ToolReply {
  const first =
    grant.prompt_file === undefined ? "Do it now." : `Read ${grant.prompt_file} to its end, and do what it says.`;
  const often = Math.floor(grant.ttl_ms / 2_000);
  const how = renewed
    ? "The lease is renewed for you while this server is connected. Report with `complete` or `fail`; `progress` now and then lets others see how it goes."
    : `Send \`heartbeat\` at least every ${often} seconds, and report with \`complete\` or \`fail\`; each call names run, task, fence and token.`;
  const next = `${first} ${how}`;
  return { text: grantText(grant, session, next), data: { claimed: true, session, ...grantData(grant), next } };
}

function nothing(waitMs: number, { session, pool }: Who, isNamed: boolean, ready: readonly ReadyPool[]): ToolReply {
  const waited = waitMs === 0 ? "" : ` within ${Math.round(waitMs / 1_000)} s`;
  const where = pool === undefined ? "the pool of the session" : `pool ${neutralize(pool)}`;
  const elsewhere = ready.filter((each) => each.pool !== pool);
  const isReadyHere = elsewhere.length < ready.length;
  const next = [
    "Call `claim_next` again to go on waiting.",
    ...(isReadyHere
      ? [`What is ready in ${where} is not for this session: \`why\` with a task says what it asks for.`]
      : []),
    ...(elsewhere.length === 0 ? [] : [elsewhereText(elsewhere)]),
  ].join(" ");
  return {
    text: `Nothing to claim in ${where}${waited}. ${next}`,
    data: {
      claimed: false,
      ...(isNamed && { session }),
      ...(pool !== undefined && { pool }),
      ...(ready.length > 0 && { ready: ready.slice(0, POOLS_MAX) }),
      next,
    },
  };
}

/** An agent cannot leave its pool by itself: the person who set it up says which one it is for. */
function elsewhereText(pools: readonly ReadyPool[]): string {
  const named = pools.slice(0, POOLS_MAX).map(({ pool, ready }) => `${neutralize(pool)} (${ready})`);
  const rest = pools.length > POOLS_MAX ? ", and others" : "";
  return `Tasks are ready in other pools: ${named.join(", ")}${rest}. The person who set this up can name one of them with \`rota mcp --pool\`, or over HTTP with the header \`Rota-Pool\`.`;
}

/** Tells a client that asked for it, every now and then, that the call still waits. */
function reportWaiting(waitMs: number, { clock, report }: ToolContext): Timer {
  if (report === undefined) return { cancel: () => undefined };
  const since = clock.now();
  const next = (): Timer => clock.at(later(clock.now(), millis(REPORT_EVERY)), tell);
  const tell = (): void => {
    report(clock.now() - since, waitMs, "Nothing to claim yet.");
    timer = next();
  };
  let timer = next();
  return { cancel: () => timer.cancel() };
}
