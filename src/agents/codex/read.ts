/** What a line of Codex's `--json` says. */
import { added, known, since } from "../counted.ts";
import type { Reader } from "../driver.ts";
import { type Json, number, object, objectIn, text } from "../json.ts";
import { shorter } from "../tools.ts";
import type { AgentEvent, Counted, Stream } from "../vocabulary.ts";

const RECONNECTING = /^Reconnecting\D*(\d+)\/\d+/;
/** Lines that the program prints in every healthy run, and that say nothing about this run. */
const CHATTER = /^(?:Reading additional input from stdin\.\.\.|Model metadata for `.*` not found\.)/;

export class CodexReader implements Reader {
  readonly #before: Counted | undefined;
  #turns: Counted = { turns: 0 };
  #answer: string | undefined;

  constructor(before: Counted | undefined) {
    this.#before = before;
  }

  line(words: string, stream: Stream): readonly AgentEvent[] {
    const said = stream === "out" ? objectIn(words) : undefined;
    if (said === undefined) return note(words);
    switch (text(said, "type")) {
      case "thread.started":
        return [{ kind: "session", id: text(said, "thread_id") ?? "" }];
      case "item.started":
        return begun(object(said, "item"));
      case "item.completed":
        return this.#item(object(said, "item"));
      case "turn.completed":
        return this.#completed(object(said, "usage"));
      case "turn.failed":
        return [
          { kind: "ended", ok: false, error: { message: text(object(said, "error"), "message") ?? "the turn failed" } },
        ];
      case "error":
        return trouble(text(said, "message") ?? "");
      default:
        return [];
    }
  }

  #item(item: Json | undefined): readonly AgentEvent[] {
    switch (text(item, "type")) {
      case "agent_message":
        this.#answer = text(item, "text") ?? "";
        this.#turns = added(this.#turns, { turns: 1 });
        return [{ kind: "said", text: this.#answer }];
      case "reasoning":
        return [{ kind: "thought", text: text(item, "text") ?? "" }];
      case "error":
        return note(text(item, "message") ?? "");
      default:
        return finished(item);
    }
  }

  /** The tokens are those of the whole conversation, earlier attempts included. */
  #completed(usage: Json | undefined): readonly AgentEvent[] {
    const total = known({
      input: number(usage, "input_tokens"),
      cached: number(usage, "cached_input_tokens"),
      output: number(usage, "output_tokens"),
    });
    return [
      { kind: "usage", used: { ...since(total, this.#before), ...this.#turns }, total },
      { kind: "ended", ok: true, ...(this.#answer !== undefined && { text: this.#answer }) },
    ];
  }
}

/** A line of type `error` is no end: Codex says it before each new try, and once more before `turn.failed`. */
function trouble(message: string): readonly AgentEvent[] {
  const attempt = RECONNECTING.exec(message)?.[1];
  return attempt === undefined
    ? [{ kind: "note", text: message }]
    : [{ kind: "retrying", error: { message }, attempt: Number(attempt) }];
}

function begun(item: Json | undefined): readonly AgentEvent[] {
  const id = text(item, "id") ?? "";
  switch (text(item, "type")) {
    case "command_execution":
      return [{ kind: "tool", id, name: "shell", argument: shorter(text(item, "command") ?? "") }];
    case "mcp_tool_call":
      return [{ kind: "tool", id, name: `${text(item, "server")}.${text(item, "tool")}` }];
    case "web_search":
      return [{ kind: "tool", id, name: "web_search", argument: shorter(text(item, "query") ?? "") }];
    default:
      return [];
  }
}

function finished(item: Json | undefined): readonly AgentEvent[] {
  const id = text(item, "id") ?? "";
  const ok = text(item, "status") !== "failed";
  switch (text(item, "type")) {
    case "command_execution":
      return [{ kind: "tool_result", id, ok, size: (text(item, "aggregated_output") ?? "").length }];
    case "mcp_tool_call": {
      const message = text(object(item, "error"), "message");
      const isDenied = message?.includes("requires approval") === true;
      return [
        { kind: "tool_result", id, ok: ok && message === undefined, ...(isDenied && { denied: true as const }) },
        ...(message === undefined ? [] : [{ kind: "note" as const, text: message }]),
      ];
    }
    case "file_change":
      return [...changes(item, id), { kind: "tool_result", id, ok }];
    case "web_search":
      return [{ kind: "tool_result", id, ok }];
    default:
      return [];
  }
}

function changes(item: Json | undefined, id: string): readonly AgentEvent[] {
  const list = item?.["changes"];
  const files = Array.isArray(list)
    ? list.map((change) => text(change as Json, "path")).filter((path) => path !== undefined)
    : [];
  return files.map((file) => ({ kind: "tool", id, name: "edit", file }) as const);
}

const note = (words: string): readonly AgentEvent[] =>
  words.trim() === "" || CHATTER.test(words) ? [] : [{ kind: "note", text: words }];
