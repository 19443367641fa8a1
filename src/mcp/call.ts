/** One call of a tool: reads its arguments, does what it asks for, and says the result in words. */
import { ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server";
import { UserError, type UserErrorCode } from "../domain/errors.ts";
import { userErrorIn } from "../domain/told.ts";
import type { Clock } from "../effects/clock.ts";
import { Problems } from "../std/problems.ts";
import { didYouMean } from "../std/schema.ts";
import { visible } from "../std/visible.ts";
import type { Scope } from "../wire/scope.ts";
import type { Agent } from "./agent.ts";
import { visibleIn } from "./present.ts";
import { type PlanText, refusalText, type Tool, type ToolContext, type ToolReply, type ToolService } from "./tool.ts";
import { toolNamed } from "./tools.ts";

/** What tools work with. */
export interface ToolDeps {
  readonly service: ToolService;
  readonly clock: Clock;
  /** Where plans belong that come without a directory. */
  readonly directory?: string;
  /** Reads the plan at a path that a client gave. */
  readonly readPlan: (path: string) => Promise<PlanText>;
  /** Told of errors that are our fault; the client hears only that there was one. */
  readonly onFault?: (error: unknown) => void;
}

/** Which tool is called, and what it was given. */
interface Asked {
  readonly name: string;
  readonly given: Readonly<Record<string, unknown>>;
}

interface Call {
  /** Aborted when the client waits for the answer no longer. */
  readonly signal: AbortSignal;
  /** What the caller may do. */
  readonly allows: (scope: Scope) => boolean;
  readonly report?: ToolContext["report"];
}

type Deps = ToolDeps & { readonly agent: Agent };

/** The result of `tools/call`. What a daemon refuses is a result too, for the model to read and to act on. */
export async function callTool({ name, given }: Asked, call: Call, deps: Deps): Promise<object> {
  const tool = toolNamed(name);
  if (tool === undefined)
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${name.slice(0, 100)}`);

  const { holds } = deps.agent;
  const { words } = holds;
  const notices = async (): Promise<readonly string[]> => {
    await holds.askAbout(words);
    // A client that has gone does not hear them, and some are told only once.
    call.signal.throwIfAborted();
    return holds.notices();
  };
  holds.heard();
  try {
    const told = await reply(tool, given, contextOf(call, deps), call);
    return result(told, await notices(), deps.agent);
  } catch (error) {
    call.signal.throwIfAborted();
    return { ...content([...(await notices()), refusal(error, deps)]), isError: true };
  } finally {
    holds.heard();
  }
}

async function reply(tool: Tool, given: Asked["given"], context: ToolContext, { allows }: Call): Promise<ToolReply> {
  if (!allows(tool.scope))
    throw new UserError("FORBIDDEN", `\`${tool.name}\` needs the scope \`${tool.scope}\`.`, {
      hint: "Leave it to the person who set this up: a token of that scope allows it, or `rota mcp --scope`.",
    });
  const problems = new Problems("this call");
  const asked = tool.input.read(understood(tool, given), problems);
  const [first] = problems.list;
  if (first !== undefined)
    throw new UserError("REQUEST_INVALID", problems.list.map(({ message }) => message).join(" "), {
      hint: first.hint ?? `\`${tool.name}\` takes: ${Object.keys(tool.input.fields).join(", ")}.`,
    });
  return await tool.call(asked as never, context);
}

/**
 * What a client sends beside the fields of the tool is left out, because some clients add fields of their own to every call. A misspelt
 * field stays in and is refused: without it `cancel` would reach more than it was meant to. A null says as much as no field at all.
 */
function understood({ input }: Tool, given: Asked["given"]): Asked["given"] {
  const known = Object.keys(input.fields);
  return Object.fromEntries(
    Object.entries(given).filter(
      ([key, value]) => value !== null && (known.includes(key) || didYouMean(key, known) !== undefined),
    ),
  );
}

function contextOf({ signal, report }: Call, deps: Deps): ToolContext {
  const { service, agent, clock, directory, readPlan } = deps;
  return {
    service,
    agent,
    clock,
    signal,
    caller: agent.caller(signal),
    readPlan,
    ...(directory !== undefined && { directory }),
    ...(report !== undefined && { report }),
  };
}

function result({ text, data }: ToolReply, notices: readonly string[], { showsBoth }: Agent): object {
  const told = notices.length === 0 ? data : { notices, ...data };
  return {
    ...content([...notices, text]),
    structuredContent: visibleIn(showsBoth ? brief(told) : told),
    isError: false,
  };
}

/** More than this is not said twice to a model that reads the text and the data. */
const TWICE_MAX = 500;

/** Without what is long: the text of the answer has it, or says how to get it. */
const brief = (data: ToolReply["data"]): ToolReply["data"] =>
  Object.fromEntries(
    Object.entries(data).filter(([, value]) => value === undefined || JSON.stringify(value).length <= TWICE_MAX),
  );

const AWAY: ReadonlySet<UserErrorCode> = new Set<UserErrorCode>(["DAEMON_MISSING", "DAEMON_STOPPING"]);

/** To start a daemon is for the person who is responsible for this machine, so an agent is told only what it can do itself. */
function away({ code, message }: UserError, { holds }: Agent): UserError {
  const [first] = holds.list();
  const kept =
    first === undefined ? "" : `Go on with ${first.task}: its lease holds until ${first.lease_until} at least. `;
  return new UserError(code, message, {
    hint: `${kept}Call again in 30 seconds; what was answered before is kept. If it stays away, tell the person you work for.`,
  });
}

const content = (texts: readonly string[]): object => ({
  content: texts.map((text) => ({ type: "text", text: visible(text) })),
});

function refusal(error: unknown, { onFault, agent }: Deps): string {
  const known = userErrorIn(error);
  if (known !== undefined) return refusalText(AWAY.has(known.code) ? away(known, agent) : known);
  onFault?.(error);
  const message = error instanceof Error ? error.message : String(error);
  return `FAULT: ${message.slice(0, 500)} (Try again; if it stays, look at the daemon's own messages.)`;
}
