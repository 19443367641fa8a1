/** What a bridge prints: events of our own vocabulary, one JSON object a line. */
import type { Reader } from "../driver.ts";
import { objectIn, text } from "../json.ts";
import type { AgentEvent, Stream } from "../vocabulary.ts";

const KINDS: readonly string[] = [
  "session",
  "said",
  "thought",
  "tool",
  "tool_result",
  "asked",
  "usage",
  "window",
  "retrying",
  "note",
  "ended",
] satisfies readonly AgentEvent["kind"][];

export class BridgeReader implements Reader {
  line(words: string, stream: Stream): readonly AgentEvent[] {
    const said = stream === "out" ? objectIn(words) : undefined;
    // The bridge is ours: a line with one of these kinds has their shape.
    if (said !== undefined && KINDS.includes(text(said, "kind") ?? "")) return [said as unknown as AgentEvent];
    return words.trim() === "" ? [] : [{ kind: "note", text: words }];
  }
}
