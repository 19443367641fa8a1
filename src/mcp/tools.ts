/**
 * Every tool there is, in the order of an agent's day. There is none that opens a gate: a gate asks a person, and an agent that could
 * answer for itself would make it worthless.
 */
import { claimNext } from "./claim.ts";
import { complete, fail, heartbeat, progress, release } from "./report-tools.ts";
import { cancel, events, pause, resume, status, submit, why } from "./run-tools.ts";
import type { Tool } from "./tool.ts";

export const TOOLS: readonly Tool[] = [
  claimNext,
  heartbeat,
  progress,
  complete,
  fail,
  release,
  submit,
  status,
  why,
  events,
  cancel,
  pause,
  resume,
];

const BY_NAME: ReadonlyMap<string, Tool> = new Map(TOOLS.map((tool) => [tool.name, tool]));
export const toolNamed = (name: string): Tool | undefined => BY_NAME.get(name);

/** As `tools/list` gives them to a caller of these scopes: always the same, so that clients may keep them. */
export const toolList = (scopes: readonly string[]): readonly object[] =>
  TOOLS.filter(({ scope }) => scopes.includes(scope)).map(({ name, description, annotations, input, output }) => ({
    name,
    title: annotations.title,
    description,
    inputSchema: input.json,
    outputSchema: output,
    annotations,
  }));
