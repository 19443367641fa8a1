/** What a tool is: described once for the agent, called with arguments that have been read. */
import type { UserError } from "../domain/errors.ts";
import type { Clock } from "../effects/clock.ts";
import type { JsonSchema, Schema } from "../std/schema.ts";
import { type Fields, type ObjectSchema, object, type Read } from "../std/schema-maps.ts";
import type { Scope } from "../wire/scope.ts";
import type { Caller, Service } from "../wire/service.ts";
import type { Agent } from "./agent.ts";

/** Hints for clients, which may ask a person before a call that is not harmless. */
export interface Annotations {
  readonly title: string;
  readonly readOnlyHint: boolean;
  readonly destructiveHint: boolean;
  readonly idempotentHint: boolean;
  readonly openWorldHint: boolean;
}

/** A plan read from a file, for `submit`. */
export interface PlanText {
  readonly text: string;
  readonly file: string;
  readonly directory: string;
}

/** What the tools ask of a daemon: its own service within it, the client of the package elsewhere. */
export type ToolService = Pick<
  Service,
  | "info"
  | "submit"
  | "runs"
  | "status"
  | "why"
  | "events"
  | "join"
  | "beat"
  | "leave"
  | "assignment"
  | "claim"
  | "start"
  | "heartbeat"
  | "progress"
  | "complete"
  | "fail"
  | "release"
  | "pause"
  | "resume"
  | "cancel"
>;

export interface ToolContext {
  readonly service: ToolService;
  readonly agent: Agent;
  readonly clock: Clock;
  /** Aborted when the call is cancelled or the connection ends. */
  readonly signal: AbortSignal;
  readonly caller: Caller;
  /** Tells the client how a call that waits is getting on, if it asked to be told. Each figure is greater than the one before. */
  readonly report?: (progress: number, total: number, message: string) => void;
  /** Where plans without a directory of their own belong. Absent where the agent is not on this machine. */
  readonly directory?: string;
  readonly readPlan: (path: string) => Promise<PlanText>;
}

/** What a tool answers: for the model to read, and the same for programs. */
export interface ToolReply {
  readonly text: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface ToolSpec<F extends Fields> {
  readonly name: string;
  readonly description: string;
  readonly annotations: Annotations;
  /** What a token must allow. */
  readonly scope: Scope;
  readonly input: ObjectSchema<F>;
  readonly output: JsonSchema;
  call(asked: Read<F>, context: ToolContext): Promise<ToolReply>;
}

/** A tool among others: what it takes is known to itself alone. */
export interface Tool extends Omit<ToolSpec<Fields>, "call"> {
  readonly call: (asked: never, context: ToolContext) => Promise<ToolReply>;
}

/** Says that the fields of a tool fit what its `call` takes. */
export const tool = <const F extends Fields>(spec: ToolSpec<F>): Tool => spec;

/** The schema of what a tool answers. Answers may have more than it says, so that a newer daemon does not break an older client. */
export function answer(fields: Readonly<Record<string, Schema<unknown, "required" | "optional">>>): JsonSchema {
  const { additionalProperties: _, properties, ...rest } = object(fields).json;
  return { ...rest, properties: { ...(properties as object), next: NEXT, notices: NOTICES } };
}

const NEXT = { type: "string", description: "What to do now." };

const NOTICES = {
  type: "array",
  items: { type: "string" },
  description: "What must be heeded before anything else, such as a task that is to be stopped.",
};

/** More problems than an agent mends at once. */
const DIAGNOSTICS_MAX = 20;

const ended = (message: string): string => (/[.!?]$/.test(message) ? message : `${message}.`);

/** As the command line prints it; for a plan with everything that is wrong with it, one problem a line. */
export function refusalText({ code, message, hint, diagnostics = [] }: UserError): string {
  const shown = diagnostics.slice(0, DIAGNOSTICS_MAX).map((each) => JSON.stringify(each));
  const rest = diagnostics.length - shown.length;
  return [`${code}: ${ended(message)} (${hint})`, ...shown, ...(rest > 0 ? [`and ${rest} more`] : [])].join("\n");
}
