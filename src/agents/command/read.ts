/** What a program of any kind prints: text, and at its end perhaps a line of JSON with `summary`, `result` or `usage`. */
import { known } from "../counted.ts";
import type { Reader } from "../driver.ts";
import { type Json, number, object, objectIn, text } from "../json.ts";
import type { AgentEvent, Stream } from "../vocabulary.ts";

export class CommandReader implements Reader {
  line(words: string, stream: Stream): readonly AgentEvent[] {
    if (words.trim() === "") return [];
    if (stream === "err") return [{ kind: "note", text: words }];
    const said = objectIn(words);
    return said === undefined || !isReport(said) ? [{ kind: "said", text: words }] : report(said);
  }
}

const isReport = (said: Json): boolean => "summary" in said || "result" in said || "usage" in said;

function report(said: Json): readonly AgentEvent[] {
  const usage = object(said, "usage");
  const summary = text(said, "summary");
  return [
    ...(usage === undefined ? [] : [{ kind: "usage" as const, used: usedOf(usage) }]),
    {
      kind: "ended",
      ok: true,
      ...(summary !== undefined && { text: summary }),
      ...("result" in said && { result: said["result"] }),
    },
  ];
}

const usedOf = (usage: Json) =>
  known({
    input: number(usage, "input_tokens") ?? number(usage, "input"),
    cached: number(usage, "cached_tokens") ?? number(usage, "cached"),
    output: number(usage, "output_tokens") ?? number(usage, "output"),
    cost: number(usage, "cost_usd") ?? number(usage, "cost"),
    turns: number(usage, "turns"),
  });
