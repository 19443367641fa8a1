/** How the scripted agent prints: as each program prints that a driver reads. */
import { randomUUID } from "node:crypto";

/** What one turn of any agent consists of. Each gives the lines to print. */
export interface Dialect {
  begin(session: string, prompt: string): readonly string[];
  say(words: string): readonly string[];
  think(words: string): readonly string[];
  tool(id: string, name: string, argument: string): readonly string[];
  result(id: string, ok: boolean, output: string): readonly string[];
  denied(id: string, message: string): readonly string[];
  retry(status: number, delayMs: number): { readonly out?: readonly string[]; readonly err?: readonly string[] };
  /** The last record of a turn that went well. */
  end(said: string, used: Used, structured: unknown): readonly string[];
  /** The last record of a turn that did not, where the program has any, and its exit code. */
  fail(
    status: number,
    message: string,
    used: Used,
  ): {
    readonly out?: readonly string[];
    readonly err?: readonly string[];
    readonly code: number;
  };
}

export interface Used {
  readonly input: number;
  readonly output: number;
  readonly cost: number;
  readonly turns: number;
}

const json = (value: unknown): string => JSON.stringify(value);

class Claude implements Dialect {
  #session = "";

  begin(session: string) {
    this.#session = session;
    return [json({ type: "system", subtype: "init", session_id: session, model: "scripted-1" })];
  }
  say(words: string) {
    return [this.#assistant({ type: "text", text: words })];
  }
  think(words: string) {
    return [this.#assistant({ type: "thinking", thinking: words })];
  }
  tool(id: string, name: string, argument: string) {
    return [this.#assistant({ type: "tool_use", id, name, input: { command: argument } })];
  }
  result(id: string, ok: boolean, output: string) {
    const content = [{ type: "tool_result", tool_use_id: id, content: output, is_error: !ok }];
    return [json({ type: "user", message: { role: "user", content }, session_id: this.#session })];
  }
  denied(id: string, message: string) {
    const content = [{ type: "tool_result", tool_use_id: id, content: message, is_error: true }];
    const meta = [{ id, permission_decision: { decision: "reject" } }];
    return [
      json({ type: "user", message: { role: "user", content }, session_id: this.#session, tool_result_meta: meta }),
    ];
  }
  retry(status: number, delayMs: number) {
    const error = status === 429 ? "rate_limit" : "server_error";
    return {
      out: [
        json({
          type: "system",
          subtype: "api_retry",
          attempt: 1,
          retry_delay_ms: delayMs,
          error_status: status,
          error,
        }),
      ],
    };
  }
  end(said: string, used: Used, structured: unknown) {
    return [
      this.#last(used, {
        is_error: false,
        result: said,
        ...(structured !== undefined && { structured_output: structured }),
      }),
    ];
  }
  fail(status: number, message: string, used: Used) {
    const window = { status: "rejected", resetsAt: Math.ceil(Date.now() / 1_000) + 2 };
    const limited = json({
      type: "rate_limit_event",
      rate_limit_info: { ...window, rateLimitType: "five_hour", unifiedWindows: { five_hour: window } },
    });
    const last = this.#last(used, { is_error: true, api_error_status: status, result: message });
    return { out: status === 429 ? [limited, last] : [last], code: 1 };
  }

  #assistant(part: object): string {
    const message = { id: randomUUID(), role: "assistant", content: [part] };
    return json({ type: "assistant", message, session_id: this.#session });
  }
  #last(used: Used, more: object): string {
    const usage = { input_tokens: used.input, output_tokens: used.output, cache_read_input_tokens: 0 };
    const model = { inputTokens: used.input, outputTokens: used.output, cacheReadInputTokens: 0, costUSD: used.cost };
    return json({
      type: "result",
      subtype: "success",
      session_id: this.#session,
      total_cost_usd: used.cost,
      usage,
      model_usage_since_last_result: { "scripted-1": model },
      permission_denials: [],
      ...more,
    });
  }
}

class Codex implements Dialect {
  begin(session: string) {
    return [json({ type: "thread.started", thread_id: session }), json({ type: "turn.started" })];
  }
  say(words: string) {
    return [this.#item({ type: "agent_message", text: words })];
  }
  think(words: string) {
    return [this.#item({ type: "reasoning", text: words })];
  }
  tool(id: string, _name: string, argument: string) {
    return [
      json({ type: "item.started", item: { id, type: "command_execution", command: argument, status: "in_progress" } }),
    ];
  }
  result(id: string, ok: boolean, output: string) {
    const status = ok ? "completed" : "failed";
    return [this.#item({ id, type: "command_execution", aggregated_output: output, exit_code: ok ? 0 : 1, status })];
  }
  denied(id: string) {
    const error = { message: "requires approval, but approval policy is never" };
    return [this.#item({ id, type: "mcp_tool_call", server: "other", tool: "x", error, status: "failed" })];
  }
  retry(status: number) {
    return {
      out: [json({ type: "error", message: `Reconnecting... 1/5 (last status: ${status} Too Many Requests)` })],
    };
  }
  end(_said: string, used: Used) {
    const usage = { input_tokens: used.input, cached_input_tokens: 0, output_tokens: used.output };
    return [json({ type: "turn.completed", usage })];
  }
  fail(status: number, message: string) {
    const words = status === 429 ? `${message} Please try again in 2s.` : message;
    return { out: [json({ type: "turn.failed", error: { message: words } })], code: 1 };
  }

  #item(item: object): string {
    return json({ type: "item.completed", item: { id: randomUUID(), ...item } });
  }
}

class Gemini implements Dialect {
  begin(session: string, prompt: string) {
    return [
      json({ type: "init", session_id: session, model: "scripted-1" }),
      json({ type: "message", role: "user", content: prompt }),
    ];
  }
  say(words: string) {
    const half = Math.ceil(words.length / 2);
    return [words.slice(0, half), words.slice(half)]
      .filter((part) => part !== "")
      .map((content) => json({ type: "message", role: "assistant", content, delta: true }));
  }
  think() {
    return [];
  }
  tool(id: string, name: string, argument: string) {
    return [json({ type: "tool_use", tool_name: name, tool_id: id, parameters: { command: argument } })];
  }
  result(id: string, ok: boolean, output: string) {
    return [json({ type: "tool_result", tool_id: id, status: ok ? "success" : "error", output })];
  }
  denied() {
    return [];
  }
  retry(status: number, delayMs: number) {
    return {
      err: [`Attempt 1 failed with status ${status}: You exceeded your current quota. Retrying after ${delayMs}ms...`],
    };
  }
  end(_said: string, used: Used) {
    return [json({ type: "result", status: "success", stats: this.#stats(used) })];
  }
  fail(status: number, message: string, used: Used) {
    const error = { type: "unknown", message: `[API Error: ${message}]` };
    return { out: [json({ type: "result", status: "error", error, stats: this.#stats(used) })], code: status % 256 };
  }

  #stats({ input, output }: Used): object {
    return { input_tokens: input, output_tokens: output, cached: 0 };
  }
}

class Kimi implements Dialect {
  #session = "";

  begin(session: string) {
    this.#session = session;
    return [json({ role: "meta", type: "system.version", version: "scripted" })];
  }
  say(words: string) {
    return [json({ role: "assistant", content: words })];
  }
  think() {
    return [];
  }
  tool(id: string, name: string, argument: string) {
    const call = { type: "function", id, function: { name, arguments: json({ command: argument }) } };
    return [json({ role: "assistant", tool_calls: [call] })];
  }
  result(id: string, _ok: boolean, output: string) {
    return [json({ role: "tool", tool_call_id: id, content: output })];
  }
  denied(id: string, message: string) {
    return [json({ role: "tool", tool_call_id: id, content: message })];
  }
  retry(status: number, delayMs: number) {
    return {
      out: [
        json({ role: "meta", type: "turn.step.retrying", failed_attempt: 1, delay_ms: delayMs, status_code: status }),
      ],
    };
  }
  end() {
    return [json({ role: "meta", type: "session.resume_hint", session_id: this.#session })];
  }
  fail(status: number, message: string) {
    return { err: [`error: failed to run prompt: provider.api_error: ${status} ${message}`], code: 1 };
  }
}

/** A program of no dialect: text, and one line of JSON at its end. */
class Plain implements Dialect {
  begin() {
    return [];
  }
  say(words: string) {
    return [words];
  }
  think() {
    return [];
  }
  tool(_id: string, name: string, argument: string) {
    return [`${name}: ${argument}`];
  }
  result() {
    return [];
  }
  denied(_id: string, message: string) {
    return [message];
  }
  retry(status: number) {
    return { err: [`the provider answered ${status}; trying again`] };
  }
  end(said: string, used: Used, structured: unknown) {
    const usage = { input_tokens: used.input, output_tokens: used.output, cost_usd: used.cost };
    return [json({ summary: said, usage, ...(structured !== undefined && { result: structured }) })];
  }
  fail(status: number, message: string) {
    return { err: [message], code: status === 429 ? 75 : 1 };
  }
}

export const DIALECTS = { claude: Claude, codex: Codex, gemini: Gemini, kimi: Kimi, command: Plain } as const;
export type DialectName = keyof typeof DIALECTS;
