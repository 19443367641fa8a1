/** What a line of Kimi Code's `stream-json` says. It counts no tokens, and tells of an error on standard error alone. */
import type { Reader } from "../driver.ts";
import { type Json, number, object, objectIn, objects, text } from "../json.ts";
import { about } from "../tools.ts";
import type { AgentEvent, Stream } from "../vocabulary.ts";

const FAILED = /^error: (?:failed to run prompt: )?(?:([a-z_.]+): )?(?:(\d{3}) )?(.*)$/s;

export class KimiReader implements Reader {
  #answer: string | undefined;
  #turns = 0;

  line(words: string, stream: Stream): readonly AgentEvent[] {
    const said = stream === "out" ? objectIn(words) : undefined;
    if (said === undefined) return stream === "err" ? failure(words) : note(words);
    switch (text(said, "role")) {
      case "assistant":
        return this.#said(said);
      case "tool":
        return [
          {
            kind: "tool_result",
            id: text(said, "tool_call_id") ?? "",
            ok: true,
            size: (text(said, "content") ?? "").length,
          },
        ];
      case "meta":
        return this.#meta(said);
      default:
        return [];
    }
  }

  #said(said: Json): readonly AgentEvent[] {
    this.#turns += 1;
    const words = text(said, "content");
    const calls = objects(said, "tool_calls").map((call) => {
      const made = object(call, "function");
      const input = objectIn(text(made, "arguments") ?? "");
      return { kind: "tool", id: text(call, "id") ?? "", name: text(made, "name") ?? "tool", ...about(input) } as const;
    });
    if (words !== undefined) this.#answer = words;
    return [
      ...(words === undefined || words === "" ? [] : [{ kind: "said" as const, text: words }]),
      ...calls,
      { kind: "usage", used: { turns: this.#turns } },
    ];
  }

  /** The hint how to resume comes after a success, and only then. */
  #meta(said: Json): readonly AgentEvent[] {
    switch (text(said, "type")) {
      case "session.resume_hint":
        return [
          { kind: "session", id: text(said, "session_id") ?? "" },
          { kind: "ended", ok: true, ...(this.#answer !== undefined && { text: this.#answer }) },
        ];
      case "turn.step.retrying":
        return [retrying(said)];
      default:
        return [];
    }
  }
}

function retrying(said: Json): AgentEvent {
  const status = number(said, "status_code");
  const type = text(said, "error_name");
  const attempt = number(said, "failed_attempt");
  const delay = number(said, "delay_ms");
  return {
    kind: "retrying",
    error: {
      message: text(said, "error_message") ?? type ?? "error",
      ...(status !== undefined && { status }),
      ...(type !== undefined && { type }),
    },
    ...(attempt !== undefined && { attempt }),
    ...(delay !== undefined && { delayMs: Math.round(delay) }),
  };
}

function failure(words: string): readonly AgentEvent[] {
  const failed = words.startsWith("error: ") ? FAILED.exec(words) : null;
  if (failed === null) return note(words);
  const [, type, status, message = words] = failed;
  const error = {
    message,
    ...(status !== undefined && { status: Number(status) }),
    ...(type !== undefined && { type }),
  };
  return [{ kind: "ended", ok: false, error }];
}

const note = (words: string): readonly AgentEvent[] => (words.trim() === "" ? [] : [{ kind: "note", text: words }]);
