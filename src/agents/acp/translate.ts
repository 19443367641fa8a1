/** What messages of the Agent Client Protocol say, in our vocabulary. The programs that speak it differ in what they leave out. */
import { added, known } from "../counted.ts";
import { type Json, number, object, objects, text } from "../json.ts";
import { about, shorter } from "../tools.ts";
import type { AgentError, AgentEvent, Counted } from "../vocabulary.ts";

/** Reasons for which a turn ends although the agent is not done. */
const NOT_DONE: Readonly<Record<string, AgentError>> = {
  refusal: { type: "refusal", message: "the model declined to go on" },
  cancelled: { type: "cancelled", message: "the turn was cancelled" },
  max_tokens: { type: "max_turns", message: "the turn went over the agent's limit of tokens" },
  max_turn_requests: { type: "max_turns", message: "the turn went over the agent's limit of requests" },
};
const ENDED = ["completed", "failed"];
/** What some programs put between the words of the model: news of their own, of which an error is their answer. */
const OWN_NEWS = /^(Info|Warning|Error): /;

/** Follows one conversation. */
export class Translation {
  readonly #tools = new Set<string>();
  readonly #refused = new Set<string>();
  #used: Counted = {};
  #cost: number | undefined;
  readonly #costBefore: number;
  #answer = "";
  /** The message whose parts come one after the other. */
  #message: string | undefined;

  constructor(before?: Counted) {
    this.#costBefore = before?.cost ?? 0;
  }

  /** A `session/update`. */
  update(update: Json | undefined): readonly AgentEvent[] {
    switch (text(update, "sessionUpdate")) {
      case "agent_message_chunk":
        return this.#chunk(text(object(update, "content"), "text") ?? "", text(update, "messageId") ?? "");
      case "agent_thought_chunk":
        this.#message = undefined;
        return [{ kind: "thought", text: text(object(update, "content"), "text") ?? "" }];
      case "tool_call":
      case "tool_call_update":
        this.#message = undefined;
        return this.#tool(update);
      case "usage_update":
        return this.#money(object(update, "cost"));
      default:
        return [];
    }
  }

  /** The answer to `session/prompt`. */
  turn(result: Json | undefined): readonly AgentEvent[] {
    const reason = text(result, "stopReason") ?? "end_turn";
    this.#used = added(this.#used, { ...tokensOf(result), turns: 1 });
    const error = NOT_DONE[reason];
    const denied = this.#refused.size;
    const end: AgentEvent =
      error === undefined
        ? { kind: "ended", ok: true, text: this.#answer, denied }
        : { kind: "ended", ok: false, error, denied };
    return [this.#usage(), end];
  }

  /** An answer that is an error. */
  failure(error: Json | undefined): readonly AgentEvent[] {
    return [{ kind: "ended", ok: false, error: errorOf(error) }];
  }

  /** A person, or a rule of the plan, said no. Not every program tells so again. */
  refused(tool: string): void {
    this.#refused.add(tool);
  }

  #chunk(words: string, message: string): readonly AgentEvent[] {
    if (words === "") return [];
    const news = OWN_NEWS.exec(words)?.[1];
    if (news !== undefined) this.#message = undefined;
    if (news === "Warning") return [{ kind: "note", text: words.trim() }];
    if (news === "Info") return [{ kind: "retrying", error: { message: words.trim() } }];
    const isPart = this.#message === message;
    this.#message = message;
    this.#answer = isPart ? this.#answer + words : words;
    return [{ kind: "said", text: words, ...(isPart && { part: true as const }) }];
  }

  /** Some programs announce a tool, some only tell of its end. */
  #tool(update: Json | undefined): readonly AgentEvent[] {
    const id = text(update, "toolCallId") ?? "";
    const events: AgentEvent[] = [];
    if (!this.#tools.has(id)) {
      this.#tools.add(id);
      events.push({ kind: "tool", id, name: text(update, "kind") ?? "tool", ...toolWords(update) });
    }
    const status = text(update, "status");
    if (status !== undefined && ENDED.includes(status)) {
      events.push({
        kind: "tool_result",
        id,
        ok: status === "completed",
        ...(this.#refused.has(id) && { denied: true as const }),
      });
    }
    return events;
  }

  /** The cost is that of the whole conversation, earlier attempts included. */
  #money(cost: Json | undefined): readonly AgentEvent[] {
    const amount = text(cost, "currency") === "USD" ? number(cost, "amount") : undefined;
    if (amount === undefined) return [];
    this.#cost = amount;
    return [this.#usage()];
  }

  #usage(): AgentEvent {
    const total = this.#cost;
    if (total === undefined) return { kind: "usage", used: this.#used };
    return {
      kind: "usage",
      used: { ...this.#used, cost: Math.max(0, total - this.#costBefore) },
      total: { cost: total },
    };
  }
}

function toolWords(update: Json | undefined): { readonly argument?: string; readonly file?: string } {
  const title = text(update, "title");
  const words = about(object(update, "rawInput"));
  const file = words.file ?? text(objects(update, "locations")[0], "path");
  const argument = words.argument ?? (title === undefined ? undefined : shorter(title));
  return { ...(argument !== undefined && { argument }), ...(file !== undefined && { file }) };
}

/** In the answer's own `usage`, or where some adapters put it. Nothing where the program counts none. */
function tokensOf(result: Json | undefined): Counted {
  const usage = object(result, "usage") ?? object(object(object(result, "_meta"), "quota"), "token_count");
  return known({
    input: number(usage, "inputTokens") ?? number(usage, "input_tokens"),
    output: number(usage, "outputTokens") ?? number(usage, "output_tokens"),
    cached: number(usage, "cachedReadTokens") ?? number(usage, "cachedInputTokens"),
  });
}

/** gemini's code is the HTTP status; others say it in words, some of them in `data`. */
function errorOf(error: Json | undefined): AgentError {
  const code = number(error, "code");
  const data = object(error, "data");
  const details = text(data, "details");
  const message = [text(error, "message"), details].filter((words) => words !== undefined).join(": ");
  const type = text(data, "errorKind");
  return {
    message: message === "" ? "the agent answered with an error" : message,
    ...(code !== undefined && code >= 400 && code < 600 && { status: code }),
    ...(type !== undefined && { type }),
  };
}
