/** What a line of Gemini CLI's `stream-json` says. */
import { known } from "../counted.ts";
import type { Reader } from "../driver.ts";
import { type Json, number, object, objectIn, text } from "../json.ts";
import { about } from "../tools.ts";
import type { AgentEvent, Stream } from "../vocabulary.ts";

/** Only standard error tells of new tries, in two lines. */
const FAILED = /^Attempt (\d+) failed(?: with status (\d+))?[:.]? ?(.*)$/;
/** Lines that the program prints in every healthy run, and the lines of stack traces. */
const CHATTER =
  /^(?:YOLO mode is enabled|Ripgrep is not available|\[STARTUP\]|Warning: (?:256-color|Basic terminal)|\s+at )/;
const RETRYING = /Retrying (?:after (\d+)ms|with backoff)/;

export class GeminiReader implements Reader {
  #failed: { readonly attempt: number; readonly status?: number; readonly message: string } | undefined;
  #answer = "";
  #turns = 0;
  #isSaying = false;

  line(words: string, stream: Stream): readonly AgentEvent[] {
    const said = stream === "out" ? objectIn(words) : undefined;
    if (said === undefined) return stream === "err" ? this.#trouble(words) : note(words);
    const events = this.#events(said);
    this.#isSaying = events.at(-1)?.kind === "said";
    return events;
  }

  #events(said: Json): readonly AgentEvent[] {
    switch (text(said, "type")) {
      case "init": {
        const model = text(said, "model");
        return [{ kind: "session", id: text(said, "session_id") ?? "", ...(model !== undefined && { model }) }];
      }
      case "message":
        return this.#message(said);
      case "tool_use": {
        const id = text(said, "tool_id") ?? "";
        return [{ kind: "tool", id, name: text(said, "tool_name") ?? "tool", ...about(object(said, "parameters")) }];
      }
      case "tool_result": {
        const size = (text(said, "output") ?? "").length;
        return [{ kind: "tool_result", id: text(said, "tool_id") ?? "", ok: text(said, "status") === "success", size }];
      }
      case "error":
        return note(text(said, "message") ?? "");
      case "result":
        return this.#result(said);
      default:
        return [];
    }
  }

  /** The prompt is echoed with the role of the user. A stream that breaks off is begun again without a mark. */
  #message(said: Json): readonly AgentEvent[] {
    if (text(said, "role") !== "assistant") return [];
    const words = text(said, "content") ?? "";
    const isPart = said["delta"] === true && this.#isSaying;
    this.#answer = isPart ? this.#answer + words : words;
    if (!isPart) this.#turns += 1;
    return [{ kind: "said", text: words, ...(isPart && { part: true as const }) }];
  }

  #result(said: Json): readonly AgentEvent[] {
    const stats = object(said, "stats");
    const error = object(said, "error");
    const type = text(error, "type");
    const ok = text(said, "status") === "success";
    const used = known({
      input: number(stats, "input_tokens"),
      cached: number(stats, "cached"),
      output: number(stats, "output_tokens"),
      turns: this.#turns,
    });
    const message = text(error, "message") ?? "the turn failed";
    return [
      { kind: "usage", used },
      ok
        ? { kind: "ended", ok, text: this.#answer }
        : { kind: "ended", ok, error: { message, ...(type !== undefined && type !== "unknown" && { type }) } },
    ];
  }

  #trouble(words: string): readonly AgentEvent[] {
    const failed = FAILED.exec(words);
    if (failed !== null) {
      const [, attempt, status, message = ""] = failed;
      this.#failed = { attempt: Number(attempt), message, ...(status !== undefined && { status: Number(status) }) };
    }
    const retrying = RETRYING.exec(words);
    if (retrying === null || this.#failed === undefined) return failed === null ? note(words) : [];
    const { attempt, ...error } = this.#failed;
    this.#failed = undefined;
    const delay = retrying[1];
    return [{ kind: "retrying", error, attempt, ...(delay !== undefined && { delayMs: Number(delay) }) }];
  }
}

const note = (words: string): readonly AgentEvent[] =>
  words.trim() === "" || CHATTER.test(words) ? [] : [{ kind: "note", text: words }];
