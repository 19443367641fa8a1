/** Every driver against what its program really printed: how each recorded run ended, and what it used. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { instant, millis } from "../domain/time.ts";
import { classified, type Exit, type Expected, type Verdict } from "./classify.ts";
import type { DriverName } from "./driver.ts";
import { DRIVER_OF } from "./drivers.ts";
import { type Evidence, evidenceOf } from "./evidence.ts";
import type { Counted, Stream } from "./vocabulary.ts";

/** By program and scenario: the kind of ending, tokens in and out, and money. A figure that the program does not tell is absent. */
const ENDINGS: Readonly<Partial<Record<DriverName, Readonly<Record<string, string>>>>> = {
  claude: {
    "auth-401-max-retries": "auth 0/0 $0",
    "auth-401": "auth",
    "big-prompt-stdin": "done 1000/50 $0.00554",
    "bypass-permissions-root": "exit",
    "bypass-permissions-sandbox": "done 2000/100 $0.01108",
    "error-500-once": "done 2000/100 $0.01108",
    "error-500-persistent": "overloaded",
    "hang-left-alone": "exit",
    "hang-sigint-group": "unknown",
    "hang-sigint": "unknown",
    "hang-sigterm-group": "exit",
    "html-200": "network 0/0 $0",
    "max-budget": "budget 2000/100 $0.01108",
    "max-turns": "budget 2000/100 $0.01108",
    "mcp-no-toolsearch": "done 2000/100 $0.01108",
    "mcp-not-approved": "permission 3000/150 $0.01662",
    "model-404": "auth 0/0 $0",
    "no-permission": "permission 2000/100 $0.01108",
    "overloaded-once": "done 2000/100 $0.01108",
    "partial-messages": "done 1000/50 $0.00554",
    "permission-mode-dontask": "permission 2000/100 $0.01108",
    plain: "done 1000/50 $0.00554",
    "rate-limit-mid-run-oauth": "done 2000/100 $0.00554",
    "rate-limit-once": "done 2000/100 $0.01108",
    "rate-limit-persistent-oauth": "quota 0/0 $0",
    "rate-limit-persistent-short": "rate-limit",
    "rate-limit-persistent": "rate-limit 0/0 $0",
    "resume-1": "done 1000/50 $0.00554",
    "resume-2": "done 1000/50 $0.00554",
    "schema-invalid": "done 3000/150 $0.01662",
    "session-id-reused": "done 1000/50 $0.00554",
    "sse-badjson-once": "done 2000/56 $0.0102",
    "sse-cut-always": "network",
    "sse-cut-once": "done 1000/50 $0.00554",
    "sse-early-end-once": "done 2000/56 $0.0102",
    "stdin-and-arg": "done 1000/50 $0.00554",
    "stdin-open": "done 1000/50 $0.00554",
    "stdin-prompt": "done 2000/100 $0.01108",
    "stream-input": "done 3000/150 $0.01662",
    "stream-interrupt": "unknown 1000/27 $0.00508",
    "success-json": "done 2000/100 $0.01108",
    success: "done 2000/100 $0.01108",
    "tool-bad-args": "done 2000/100 $0.01108",
    "tool-fails": "done 2000/100 $0.01108",
    "tool-sigint": "unknown 1000/50 $0.00554",
    "tool-sigkill": "signal 1000/1",
    "tool-sigterm-group": "exit 1000/1",
    "tool-sigterm": "exit 1000/1",
    "two-at-once-b": "done 2000/100 $0.01108",
    worktree: "done 2000/100 $0.01108",
  },
  codex: {
    "big-prompt-stdin": "done 1000/50",
    "bypass-sandbox": "done 2000/100",
    ephemeral: "done 1000/50",
    "hang-left-alone": "signal",
    "hang-sigint-group": "exit",
    "hang-sigint": "exit",
    "hang-sigterm-group": "signal",
    "hang-sigterm": "signal",
    "html-200": "network",
    "mcp-default-approval": "permission 2000/100",
    "mcp-not-approved": "permission 2000/100",
    mcp: "done 2000/100",
    "model-404": "auth",
    "node20-hang-sigint": "exit",
    "node20-hang-sigterm": "signal",
    "not-a-git-repo": "exit",
    "overloaded-once": "done 2000/100",
    plain: "done 1000/50",
    "rate-limit-once": "done 2000/100",
    "rate-limit-persistent-short": "rate-limit",
    "rate-limit-persistent": "rate-limit",
    "resume-1": "done 1000/50",
    "resume-other-dir": "done 3000/150",
    "resume-unknown": "stale-session",
    "sse-badjson-once": "done 1000/50",
    "sse-cut-always": "network",
    "sse-cut-once": "done 1000/50",
    "sse-early-end-once": "done 1000/50",
    "stdin-and-arg": "done 1000/50",
    "stdin-open": "signal",
    "stdin-prompt": "done 2000/100",
    success: "done 2000/100",
    "tool-bad-args": "done 2000/100",
    "tool-fails": "done 2000/100",
    "tool-sigint": "exit",
    "tool-sigkill": "signal",
    "tool-sigterm-group": "signal",
    "tool-sigterm": "signal",
    "two-at-once-a": "done 2000/100",
    "two-at-once-b": "done 2000/100",
    "usage-limit": "quota",
  },
  gemini: {
    "auth-400": "auth 0/0",
    "big-prompt-stdin": "done 2000/100",
    "error-500-once": "done 3000/150",
    "hang-left-alone": "unknown",
    "hang-sigint-group": "unknown",
    "hang-sigint-norelaunch": "unknown",
    "hang-sigint": "signal",
    "hang-sigterm-group": "unknown",
    "hang-sigterm-norelaunch": "unknown",
    "hang-sigterm": "signal",
    "html-200": "network 1000/50",
    "max-turns": "budget 3000/150",
    "mcp-not-approved": "done 2000/100",
    mcp: "done 3000/150",
    "model-404": "auth 0/0",
    "no-permission": "done 2000/100",
    "overloaded-once": "done 3000/150",
    plain: "done 2000/100",
    "quota-day": "quota 0/0",
    "rate-limit-once": "done 3000/150",
    "rate-limit-persistent": "rate-limit",
    "resume-1": "done 2000/100",
    "resume-2": "done 2000/100",
    "resume-unknown": "stale-session",
    "sse-cut-always": "network 1000/50",
    "sse-cut-once": "network 1000/50",
    "sse-early-end-once": "done 2000/100",
    "stdin-and-arg": "done 2000/100",
    "stdin-open": "done 2000/100",
    "stdin-prompt": "done 3000/150",
    success: "done 3000/150",
    "tool-fails": "done 3000/150",
    "tool-sigint": "signal",
    "tool-sigkill": "signal",
    "tool-sigterm-group": "unknown",
    "two-at-once-a": "done 3000/150",
    "two-at-once-b": "done 3000/150",
    untrusted: "exit",
  },
  kimi: {
    "auth-401": "auth",
    "big-prompt-stdin": "unknown",
    "error-500-once": "done",
    "error-500-persistent": "overloaded",
    goal: "exit",
    "hang-left-alone": "exit",
    "hang-sigint": "exit",
    "hang-sigterm-group": "exit",
    "hang-sigterm": "exit",
    "html-200": "network",
    "mcp-not-approved": "done",
    mcp: "done",
    "model-404": "auth",
    "no-permission": "done",
    "plain-no-auto": "unknown",
    plain: "done",
    "rate-limit-once": "done",
    "rate-limit-persistent-short": "rate-limit",
    "rate-limit-persistent": "rate-limit",
    "resume-1": "done",
    "resume-2": "done",
    "resume-other-dir": "stale-session",
    "resume-unknown": "stale-session",
    "sse-early-end-once": "done",
    "stdin-and-arg": "done",
    "stdin-open": "done",
    success: "done",
    "tool-sigint": "exit",
    "tool-sigkill": "signal",
    "tool-sigterm-group": "exit",
    "tool-sigterm": "exit",
    "two-at-once-a": "done",
    "two-at-once-b": "done",
    worktree: "done",
  },
};

interface Recording {
  /** An exit code, or the name of a signal. */
  readonly exit: number | string;
  readonly out: readonly string[];
  readonly err: readonly string[];
}

const recordings = (driver: DriverName): Readonly<Record<string, Recording>> =>
  JSON.parse(readFileSync(new URL(`../../test/corpus/agents/${driver}.json`, import.meta.url), "utf8"));

const recording = (driver: DriverName, scenario: string): Recording => {
  const found = recordings(driver)[scenario];
  if (found === undefined) throw new Error(`no recording of ${driver} is called ${scenario}`);
  return found;
};

function read(driver: DriverName, { out, err }: Recording, before?: Counted): Evidence {
  const lines = (stream: Stream, list: readonly string[]) => list.map((words) => ({ words, stream }));
  return evidenceOf(DRIVER_OF[driver].open(before), [...lines("err", err), ...lines("out", out)]);
}

const expected = (driver: DriverName): Expected => {
  const { features, exit } = DRIVER_OF[driver];
  return {
    endsTurns: features.endsTurns,
    tokens: features.tokens,
    report: false,
    now: instant(Date.parse("2026-11-18T20:30:00Z")),
    zone: millis(0),
    ...(exit !== undefined && { exit }),
  };
};

const exitOf = ({ exit }: Recording): Exit => (typeof exit === "number" ? { code: exit } : { signal: exit });

const judge = (driver: DriverName, scenario: string): Verdict => {
  const recorded = recording(driver, scenario);
  return classified(read(driver, recorded), exitOf(recorded), undefined, expected(driver));
};

function ending(driver: DriverName, recorded: Recording): string {
  const evidence = read(driver, recorded);
  const { kind } = classified(evidence, exitOf(recorded), undefined, expected(driver));
  const { input, output, cost } = evidence.used ?? {};
  const tokens = input === undefined ? "" : ` ${input}/${output}`;
  return `${kind}${tokens}${cost === undefined ? "" : ` $${Number(cost.toFixed(5))}`}`;
}

describe.each(Object.entries(ENDINGS))("recordings of %s", (name, endings) => {
  const driver = name as DriverName;

  it("has an expectation for each", () => {
    expect(Object.keys(endings).toSorted()).toEqual(Object.keys(recordings(driver)).toSorted());
  });

  it.each(Object.entries(endings))("%s: %s", (scenario, said) => {
    expect(ending(driver, recording(driver, scenario))).toBe(said);
  });
});

describe("what the recordings tell besides", () => {
  it("has the window of the account and the time of its reset", () => {
    expect(judge("claude", "rate-limit-persistent-oauth")).toMatchObject({
      kind: "quota",
      window: "five_hour",
      resetsAt: instant(1_795_036_976_000),
    });
    expect(read("claude", recording("claude", "rate-limit-mid-run-oauth")).windows["five_hour"]).toMatchObject({
      status: "allowed",
      used: 0.5,
    });
  });

  it("reads the time of a reset from a sentence for people", () => {
    expect(judge("codex", "usage-limit")).toMatchObject({ resetsAt: instant(Date.parse("2026-11-18T21:20:00Z")) });
  });

  it("counts a resumed conversation from what was there before, where a program tells totals", () => {
    const first = read("codex", recording("codex", "resume-1"));
    const third = read("codex", recording("codex", "resume-other-dir"), { input: 2_000, cached: 400, output: 100 });
    expect(first.used).toMatchObject({ input: 1_000, output: 50 });
    expect(third.used).toEqual({ input: 1_000, cached: 200, output: 50, turns: 1 });
    expect(third.total).toEqual({ input: 3_000, cached: 600, output: 150 });
  });

  it("knows the conversation and the tools", () => {
    const evidence = read("claude", recording("claude", "success"));
    expect(evidence).toMatchObject({
      session: "27babfa0-ce4b-43d3-84b0-12b420054a54",
      model: "claude-opus-5-5",
      tools: 1,
      said: "All done: the stub model says hi.",
    });
    expect(read("claude", recording("claude", "tool-sigkill")).tool).toMatchObject({
      name: "Bash",
      argument: "tail -s 3127 -f /dev/null",
    });
  });

  it("joins the parts of one answer", () => {
    expect(read("gemini", recording("gemini", "success")).said).toBe("All done: the stub model says hi.");
  });

  it("gives the same events for the same lines, whenever they are read", () => {
    const { out } = recording("claude", "stream-input");
    const events = () => {
      const reader = DRIVER_OF.claude.open();
      return out.flatMap((words) => reader.line(words, "out"));
    };
    expect(events()).toEqual(events());
  });
});
