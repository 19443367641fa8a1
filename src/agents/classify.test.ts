/** Endings that no recording has: reports, results against a schema, and successes that are none. */
import { describe, expect, it } from "vitest";
import { instant, millis } from "../domain/time.ts";
import { classified, type Expected, type Report } from "./classify.ts";
import { DRIVER_OF } from "./drivers.ts";
import { evidenceOf, learned, NO_EVIDENCE } from "./evidence.ts";
import type { AgentEvent } from "./vocabulary.ts";

const EXPECTED: Expected = { endsTurns: true, tokens: true, report: false, now: instant(0), zone: millis(0) };
const evidence = (...events: readonly AgentEvent[]) => events.reduce(learned, NO_EVIDENCE);
const DONE: readonly AgentEvent[] = [
  { kind: "said", text: "Built." },
  { kind: "usage", used: { input: 10, output: 5 } },
  { kind: "ended", ok: true, text: "Built." },
];
const judged = (events: readonly AgentEvent[], more: Partial<Expected> = {}, report?: Report) =>
  classified(evidence(...events), { code: 0 }, report, { ...EXPECTED, ...more });

describe("an ending", () => {
  it("is done with words, tokens and a last record", () => {
    expect(judged(DONE)).toEqual({ kind: "done", summary: "Built." });
  });

  it("is no success without a token", () => {
    expect(judged([DONE[0], { kind: "usage", used: { input: 0, output: 0 } }, DONE[2]] as AgentEvent[])).toMatchObject({
      kind: "unknown",
    });
  });

  it("is no success without a word or a tool, where no tokens are told", () => {
    expect(judged([{ kind: "ended", ok: true }], { tokens: false })).toMatchObject({ kind: "unknown" });
  });

  it("is no success when work came after the last record", () => {
    expect(judged([...DONE, { kind: "tool", id: "1", name: "Bash" }])).toMatchObject({
      kind: "unknown",
      rule: "no last record",
    });
  });

  it("is a permission's where a tool was refused, unless the agent reports its work as done", () => {
    const refused: readonly AgentEvent[] = [{ kind: "tool_result", id: "1", ok: false, denied: true }, ...DONE];
    expect(judged(refused)).toMatchObject({ kind: "permission" });
    expect(judged(refused, {}, { status: "done", summary: "Found another way." })).toEqual({
      kind: "done",
      summary: "Found another way.",
    });
  });

  it("is read where an error stands in place of an answer", () => {
    const words = "Error: 429 Rate limit reached for requests. Please try again in 1s.";
    expect(
      judged(
        [
          { kind: "said", text: words },
          { kind: "ended", ok: true },
        ],
        { tokens: false },
      ),
    ).toMatchObject({
      kind: "rate-limit",
      resetsAt: instant(1_000),
    });
  });

  it("is not judged by an error that an answer only talks about", () => {
    const words = "I fixed the error: 429 Too Many Requests is now retried.";
    expect(
      judged([{ kind: "said", text: words }, DONE[1], { kind: "ended", ok: true, text: words }] as AgentEvent[]),
    ).toMatchObject({ kind: "done" });
  });

  it("needs a report where the plan asks for one", () => {
    expect(judged(DONE, { report: true })).toMatchObject({ kind: "unproven" });
    expect(judged(DONE, { report: true }, { status: "done_with_concerns" })).toMatchObject({
      kind: "done",
      concerns: true,
    });
  });

  it("is blocked when the agent says so, although its process ended well", () => {
    expect(judged(DONE, {}, { status: "blocked", summary: "no database" })).toMatchObject({
      kind: "blocked",
      message: "no database",
    });
  });

  it("asks for another try with exit code 75", () => {
    expect(classified(evidence(...DONE), { code: 75 }, undefined, EXPECTED)).toMatchObject({ kind: "rate-limit" });
  });
});

describe("a result", () => {
  const faults = (result: unknown) => (typeof result === "object" && result !== null ? [] : ["must be an object"]);

  it("comes from the report, the last record, or the last words, in this order", () => {
    const ended = (more: object): AgentEvent[] => [DONE[1] as AgentEvent, { kind: "ended", ok: true, ...more }];
    expect(
      judged(ended({ result: { from: "record" } }), { faults }, { status: "done", result: { from: "report" } }),
    ).toMatchObject({
      result: { from: "report" },
    });
    expect(judged(ended({ result: { from: "record" } }), { faults })).toMatchObject({ result: { from: "record" } });
    expect(judged(ended({ text: '```json\n{"from":"words"}\n```' }), { faults })).toMatchObject({
      result: { from: "words" },
    });
  });

  it("is malformed where it does not meet the schema", () => {
    expect(judged(DONE, { faults })).toMatchObject({ kind: "malformed", message: "must be an object" });
  });
});

describe("a command", () => {
  const lines = (...out: readonly string[]) => out.map((words) => ({ words, stream: "out" as const }));
  const said = (...out: readonly string[]) => evidenceOf(DRIVER_OF.command.open(), lines(...out));
  const loose = { ...EXPECTED, endsTurns: false, tokens: false };

  it("has its last line for a summary", () => {
    expect(classified(said("working", "all done"), { code: 0 }, undefined, loose)).toEqual({
      kind: "done",
      summary: "all done",
    });
  });

  it("has summary, result and usage of a last line that is JSON", () => {
    const found = said(
      "working",
      '{"summary":"built","result":{"files":[]},"usage":{"input_tokens":7,"cost_usd":0.5}}',
    );
    expect(classified(found, { code: 0 }, undefined, loose)).toEqual({
      kind: "done",
      summary: "built",
      result: { files: [] },
    });
    expect(found.used).toEqual({ input: 7, cost: 0.5 });
  });

  it("is not read by JSON that is not the last line", () => {
    expect(classified(said('{"summary":"half"}', "and on"), { code: 0 }, undefined, loose)).toMatchObject({
      summary: "and on",
    });
  });

  it("that prints nothing has done what its exit code says", () => {
    expect(classified(NO_EVIDENCE, { code: 0 }, undefined, { ...loose, silent: true })).toEqual({ kind: "done" });
    expect(classified(NO_EVIDENCE, { code: 3 }, undefined, loose)).toMatchObject({
      kind: "exit",
      message: "exit code 3",
    });
  });
});
