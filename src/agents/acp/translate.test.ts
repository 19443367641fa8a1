/** The protocol against what seven programs really said over it: how a turn ended, and what it used. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { instant, millis } from "../../domain/time.ts";
import { classified } from "../classify.ts";
import { type Evidence, learned, NO_EVIDENCE } from "../evidence.ts";
import type { Json } from "../json.ts";
import type { Counted } from "../vocabulary.ts";
import { Translation } from "./translate.ts";

/** By program and scenario: the kind of ending, tokens in and out, and money. */
const ENDINGS: Readonly<Record<string, string>> = {
  "claude/session": "done 2000/100 $0.01662",
  "claude/error-429-once": "done 1000/50 $0.00554",
  "claude/error-401-retries-1": "auth",
  "claude/error-500-retries-1": "overloaded",
  "claude/no-auth": "auth",
  "claude/sse-cut": "done 2000/51 $0.0101",
  "claude/cancel-tool": "unknown 1000/50 $0.01108",
  "claude/mcp": "done 3000/150 $0.02216",
  "codex/session": "done 1600/100",
  "codex/error-401": "auth",
  "codex/error-429": "unknown",
  "codex/reject": "unknown 800/50",
  "codex/sse-cut": "done 800/50",
  "codex/cancel-tool": "unknown 800/50",
  "codex/mcp": "done 1600/100",
  "codex/resume": "done 800/50",
  "gemini/session": "done 2000/100",
  "gemini/error-401": "auth",
  "gemini/error-429": "done 1000/50",
  "gemini/error-429-once": "done 1000/50",
  "gemini/no-auth": "auth",
  "gemini/cancel-tool": "unknown",
  "gemini/mcp": "done 2000/100",
  "opencode/session": "done 800/40 $0.00642",
  "opencode/error-401": "auth $0",
  "opencode/error-429": "unknown 0/0 $0",
  "opencode/error-429-once": "done 800/40 $0.00321",
  "opencode/reject": "done 800/40 $0.00321",
  "opencode/cancel-tool": "unknown 0/0 $0",
  "opencode/mcp": "done 800/40 $0.00642",
  "opencode/resume": "done 800/40 $0.01605",
  "qwen/session": "done",
  "qwen/error-401": "auth",
  "qwen/error-429": "unknown",
  "qwen/error-429-once": "done",
  "qwen/error-500": "unknown",
  "qwen/no-auth": "auth",
  "qwen/sse-cut": "done",
  "qwen/cancel-tool": "unknown",
  "qwen/mcp": "done",
  "qwen/resume": "done",
  "copilot/session": "done 2000/100",
  "copilot/error-429": "rate-limit",
  "copilot/error-429-once": "done 1000/50",
  "copilot/error-500": "overloaded",
  "copilot/sse-cut": "done 1000/50",
  "copilot/cancel-tool": "unknown 1000/50",
  "copilot/mcp": "done 1000/50",
  "kimi/session": "done",
  "kimi/error-401": "auth",
  "kimi/error-429": "unknown",
  "kimi/error-429-once": "done",
  "kimi/reject": "done",
  "kimi/no-auth": "auth",
  "kimi/sse-cut": "done",
  "kimi/cancel-tool": "unknown",
  "kimi/resume": "done",
};

interface Message {
  readonly update?: Json;
  readonly result?: Json;
  readonly error?: Json;
}

const RECORDED = JSON.parse(
  readFileSync(new URL("../../../test/corpus/agents/acp.json", import.meta.url), "utf8"),
) as Readonly<Record<string, readonly Message[]>>;

const translated = (translation: Translation, { update, result, error }: Message) =>
  update === undefined
    ? result === undefined
      ? translation.failure(error)
      : translation.turn(result)
    : translation.update(update);

const follow = (messages: readonly Message[], translation = new Translation()): Evidence =>
  messages.flatMap((message) => translated(translation, message)).reduce(learned, NO_EVIDENCE);

const EXPECTED = { endsTurns: true, tokens: false, report: false, now: instant(0), zone: millis(0) };

function ending(evidence: Evidence): string {
  const { kind } = classified(evidence, { code: 0 }, undefined, EXPECTED);
  const { input, output, cost } = evidence.used ?? {};
  const tokens = input === undefined ? "" : ` ${input}/${output}`;
  return `${kind}${tokens}${cost === undefined ? "" : ` $${Number(cost.toFixed(5))}`}`;
}

describe("turns over the protocol", () => {
  it("have an expectation each", () => {
    expect(Object.keys(ENDINGS).toSorted()).toEqual(Object.keys(RECORDED).toSorted());
  });

  it.each(Object.entries(ENDINGS))("%s: %s", (scenario, said) => {
    expect(ending(follow(RECORDED[scenario] ?? []))).toBe(said);
  });

  it("count a resumed conversation's money from what was there before", () => {
    const before: Counted = { cost: 0.01284 };
    expect(follow(RECORDED["opencode/resume"] ?? [], new Translation(before)).used?.cost).toBeCloseTo(0.00321, 5);
  });

  it("are no success where a tool was refused, whether the program tells so or not", () => {
    const translation = new Translation();
    translation.refused("call_0003");
    expect(ending(follow(RECORDED["opencode/reject"] ?? [], translation))).toMatch(/^permission/);
  });

  it("begin an answer anew where a stream was cut and begun again", () => {
    expect(follow(RECORDED["claude/sse-cut"] ?? []).said).toBe("All done: the stub model says hi.");
  });

  it("tell the tool, its words and its file", () => {
    const events = (RECORDED["codex/session"] ?? []).flatMap((message) => translated(new Translation(), message));
    expect(events).toContainEqual({
      kind: "tool",
      id: "call_0004",
      name: "execute",
      argument: "printf hello-from-stub > made-by-agent.txt",
    });
  });
});
