/** What an attempt's events say together: the evidence by which its ending is judged, and what people see of it meanwhile. */
import type { AgentError, AgentEvent, Counted, Stream, Window } from "./vocabulary.ts";

/** Notes kept: what a program prints last says why it gave up. */
const NOTES_MAX = 20;

export interface Evidence {
  readonly session: string | undefined;
  readonly model: string | undefined;
  /** The last thing said, its parts joined. */
  readonly said: string | undefined;
  readonly isSaying: boolean;
  readonly tools: number;
  /** The tool that runs: the last of those without a result. */
  readonly tool: (AgentEvent & { readonly kind: "tool" }) | undefined;
  readonly denied: number;
  readonly used: Counted | undefined;
  /** What the next attempt of this conversation has to start from. */
  readonly total: Counted | undefined;
  readonly windows: Readonly<Record<string, Window>>;
  /** It tries again by itself, and nothing has come since. */
  readonly retrying: { readonly error: AgentError; readonly delayMs: number | undefined } | undefined;
  readonly asked: (AgentEvent & { readonly kind: "asked" }) | undefined;
  readonly notes: readonly string[];
  /** The last record, if nothing of the work has come after it. */
  readonly ended: (AgentEvent & { readonly kind: "ended" }) | undefined;
  /** Events of any kind. None is a program that never began. */
  readonly events: number;
}

export const NO_EVIDENCE: Evidence = {
  session: undefined,
  model: undefined,
  said: undefined,
  isSaying: false,
  tools: 0,
  tool: undefined,
  denied: 0,
  used: undefined,
  total: undefined,
  windows: {},
  retrying: undefined,
  asked: undefined,
  notes: [],
  ended: undefined,
  events: 0,
};

export function learned(before: Evidence, event: AgentEvent): Evidence {
  const evidence = { ...before, events: before.events + 1, isSaying: event.kind === "said" };
  switch (event.kind) {
    case "session":
      return { ...evidence, session: event.id, model: event.model ?? before.model };
    case "said":
      return working({
        ...evidence,
        said: event.part && before.isSaying ? `${before.said ?? ""}${event.text}` : event.text,
      });
    case "thought":
      return working(evidence);
    case "tool":
      return working({ ...evidence, tools: before.tools + 1, tool: event });
    case "tool_result":
      return working({
        ...evidence,
        tool: before.tool?.id === event.id ? undefined : before.tool,
        denied: before.denied + (event.denied === true ? 1 : 0),
      });
    case "asked":
      return { ...evidence, asked: event };
    case "usage":
      return { ...evidence, used: event.used, total: event.total ?? before.total };
    case "window":
      return { ...evidence, windows: { ...before.windows, [event.window.name]: event.window } };
    case "retrying":
      return { ...evidence, retrying: { error: event.error, delayMs: event.delayMs } };
    case "note":
      return { ...evidence, notes: [...before.notes, event.text].slice(-NOTES_MAX) };
    case "ended":
      return { ...evidence, ended: event, retrying: undefined, denied: Math.max(before.denied, event.denied ?? 0) };
  }
}

/** Work after a last record makes it the last one no longer; an answer ends a row of new tries. */
const working = (evidence: Evidence): Evidence => ({
  ...evidence,
  ended: undefined,
  retrying: undefined,
  asked: undefined,
});

/** All that these lines say. */
export function evidenceOf(
  reader: { line(words: string, stream: Stream): readonly AgentEvent[] },
  lines: Iterable<{ readonly words: string; readonly stream: Stream }>,
): Evidence {
  let evidence = NO_EVIDENCE;
  for (const { words, stream } of lines)
    for (const event of reader.line(words, stream)) evidence = learned(evidence, event);
  return evidence;
}
