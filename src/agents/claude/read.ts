/** What a line of Claude Code's `stream-json` says. */
import { instant } from "../../domain/time.ts";
import { added, known } from "../counted.ts";
import type { Reader } from "../driver.ts";
import { asObject, type Json, number, object, objectIn, objects, text } from "../json.ts";
import { about } from "../tools.ts";
import type { AgentError, AgentEvent, Counted, Stream, Window } from "../vocabulary.ts";

const SECOND = 1_000;

export class ClaudeReader implements Reader {
  readonly #before: Counted | undefined;
  /** What each answer has said so far, until the last record of the turn comes. */
  readonly #answers = new Map<string, Counted>();
  #ended: Counted = {};
  #session: string | undefined;

  constructor(before: Counted | undefined) {
    this.#before = before;
  }

  line(words: string, stream: Stream): readonly AgentEvent[] {
    const said = stream === "out" ? objectIn(words) : undefined;
    if (said === undefined) return words.trim() === "" ? [] : [{ kind: "note", text: words }];
    return [...this.#conversation(said), ...this.#events(said)];
  }

  #events(said: Json): readonly AgentEvent[] {
    switch (text(said, "type")) {
      case "system":
        return system(said);
      case "assistant":
        return this.#answer(said);
      case "user":
        return objects(object(said, "message"), "content").flatMap((part) => toolResult(part, said));
      case "rate_limit_event":
        return windows(object(said, "rate_limit_info"));
      case "result":
        return this.#result(said);
      default:
        return [];
    }
  }

  #conversation(said: Json): readonly AgentEvent[] {
    const id = text(said, "session_id");
    if (id === undefined || id === this.#session) return [];
    this.#session = id;
    const model = text(said, "model");
    return [{ kind: "session", id, ...(model !== undefined && { model }) }];
  }

  #answer(said: Json): readonly AgentEvent[] {
    const message = object(said, "message");
    const parts = objects(message, "content").flatMap((part) => spoken(part));
    const wrong = text(said, "error");
    if (wrong !== undefined) return parts;
    const id = text(message, "id");
    const usage = object(message, "usage");
    if (id === undefined || usage === undefined || this.#answers.has(id)) return parts;
    this.#answers.set(id, { ...tokens(usage), turns: 1 });
    return [...parts, { kind: "usage", used: [...this.#answers.values()].reduce(added, this.#ended) }];
  }

  #result(said: Json): readonly AgentEvent[] {
    const since = object(said, "model_usage_since_last_result");
    const total = number(said, "total_cost_usd");
    const turn = since === undefined ? this.#lastTurn(said, total) : byModel(since);
    this.#ended = added(this.#ended, { ...turn, turns: this.#answers.size });
    this.#answers.clear();
    const isError = said["is_error"] === true;
    const error = isError ? errorOf(said) : undefined;
    const result = text(said, "result");
    return [
      { kind: "usage", used: this.#ended, ...(total !== undefined && { total: { cost: total } }) },
      {
        kind: "ended",
        ok: !isError,
        denied: objects(said, "permission_denials").length,
        ...(result !== undefined && !isError && { text: result }),
        ...("structured_output" in said && { result: said["structured_output"] }),
        ...(error !== undefined && { error }),
      },
    ];
  }

  /** Versions that count money only over the whole conversation: what was there before is taken off. */
  #lastTurn(said: Json, total: number | undefined): Counted {
    const before = (this.#before?.cost ?? 0) + (this.#ended.cost ?? 0);
    return { ...tokens(object(said, "usage")), ...(total !== undefined && { cost: Math.max(0, total - before) }) };
  }
}

function system(said: Json): readonly AgentEvent[] {
  switch (text(said, "subtype")) {
    case "api_retry":
      return [retrying(said)];
    case "permission_denied":
      return [{ kind: "note", text: text(said, "message") ?? "a tool was refused" }];
    default:
      return [];
  }
}

/** A stream that broke off has no status, and the word `unknown`. */
function retrying(said: Json): AgentEvent {
  const status = number(said, "error_status");
  const word = text(said, "error") ?? "unknown";
  const type = word === "unknown" && status === undefined ? "APIConnectionError" : word;
  const attempt = number(said, "attempt");
  const delayMs = number(said, "retry_delay_ms");
  const message = type === word ? word : "the connection to the provider was lost";
  return {
    kind: "retrying",
    error: {
      type,
      message: status === undefined ? message : `${message} (${status})`,
      ...(status !== undefined && { status }),
    },
    ...(attempt !== undefined && { attempt }),
    ...(delayMs !== undefined && { delayMs }),
  };
}

function spoken(part: Json): readonly AgentEvent[] {
  switch (text(part, "type")) {
    case "text":
      return [{ kind: "said", text: text(part, "text") ?? "" }];
    case "thinking":
      return [{ kind: "thought", text: text(part, "thinking") ?? "" }];
    case "tool_use":
      return [
        {
          kind: "tool",
          id: text(part, "id") ?? "",
          name: text(part, "name") ?? "tool",
          ...about(object(part, "input")),
        },
      ];
    default:
      return [];
  }
}

function toolResult(part: Json, said: Json): readonly AgentEvent[] {
  if (text(part, "type") !== "tool_result") return [];
  const id = text(part, "tool_use_id") ?? "";
  const denied = objects(said, "tool_result_meta").some(
    (meta) => text(meta, "id") === id && text(object(meta, "permission_decision"), "decision") === "reject",
  );
  const content = part["content"];
  const size = typeof content === "string" ? content.length : JSON.stringify(content ?? "").length;
  return [{ kind: "tool_result", id, ok: part["is_error"] !== true, size, ...(denied && { denied: true as const }) }];
}

/** One event for each window of the account, the deciding one last. */
function windows(info: Json | undefined): readonly AgentEvent[] {
  if (info === undefined) return [];
  const deciding = text(info, "rateLimitType");
  const all = Object.entries(object(info, "unifiedWindows") ?? {}).map(([name, value]) =>
    windowOf(name, asObject(value)),
  );
  if (deciding !== undefined && !all.some(({ name }) => name === deciding)) all.push(windowOf(deciding, info));
  return all
    .toSorted((a, b) => Number(a.name === deciding) - Number(b.name === deciding))
    .map((window) => ({ kind: "window", window }) as const);
}

function windowOf(name: string, said: Json | undefined): Window {
  const status = text(said, "status");
  const resets = number(said, "resetsAt");
  const used = number(said, "utilization");
  return {
    name,
    status: status === "rejected" ? "rejected" : status === "allowed_warning" ? "warned" : "allowed",
    ...(resets !== undefined && { resetsAt: instant(resets * SECOND) }),
    ...(used !== undefined && { used }),
  };
}

function errorOf(said: Json): AgentError {
  const status = number(said, "api_error_status");
  const type = text(said, "api_error") ?? text(said, "api_error_type") ?? ownType(said);
  const errors = said["errors"];
  const message = text(said, "result") ?? (Array.isArray(errors) ? errors.join("; ") : (type ?? "the turn failed"));
  return { message, ...(status !== undefined && { status }), ...(type !== undefined && { type }) };
}

/** `subtype` stays `success` when the provider refused. */
function ownType(said: Json): string | undefined {
  const subtype = text(said, "subtype");
  return subtype === "success" ? text(said, "terminal_reason") : subtype;
}

function tokens(usage: Json | undefined): Counted {
  return known({
    input: number(usage, "input_tokens"),
    output: number(usage, "output_tokens"),
    cached: number(usage, "cache_read_input_tokens"),
  });
}

function byModel(models: Json): Counted {
  return Object.values(models)
    .map(asObject)
    .map((model) =>
      known({
        input: number(model, "inputTokens"),
        output: number(model, "outputTokens"),
        cached: number(model, "cacheReadInputTokens"),
        cost: number(model, "costUSD"),
      }),
    )
    .reduce(added, { input: 0, output: 0, cached: 0, cost: 0 });
}
