/** What every driver keeps, over real processes that print as its program does. */
import { spawn } from "node:child_process";
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { instant, millis } from "../domain/time.ts";
import { classified, type Exit, type Verdict } from "./classify.ts";
import type { AgentOrder, Driver } from "./driver.ts";
import { type Evidence, learned, NO_EVIDENCE } from "./evidence.ts";
import { AgentStream } from "./stream.ts";

/** A driver, and a scripted agent that speaks its dialect: `@` lines of the prompt say what it does. */
export interface DriverUnderTest {
  readonly driver: Driver;
  readonly argv: readonly [string, ...string[]];
  /** The program between the driver and the agent, if the driver needs one. */
  readonly bridge?: readonly [string, ...string[]];
  /** Whether the program itself reports that a tool was refused. */
  readonly tellsDenials: boolean;
}

interface Ran {
  readonly evidence: Evidence;
  readonly exit: Exit;
  readonly verdict: Verdict;
}

export function driverConformance({ driver, argv, bridge = argv, tellsDenials }: DriverUnderTest): void {
  const root = mkdtempSync(join(tmpdir(), `rota-driver-${driver.name}-`));
  afterAll(() => rmSync(root, { recursive: true, force: true }));
  let count = 0;

  const run = async (
    prompt: string,
    more: Partial<AgentOrder> = {},
    kill?: (evidence: Evidence) => boolean,
  ): Promise<Ran> => {
    const files = join(root, String(count++));
    mkdirSync(files);
    const promptFile = join(files, "prompt.md");
    writeFileSync(promptFile, prompt);
    const order: AgentOrder = {
      prompt,
      promptFile,
      files,
      argv,
      promptWay: "stdin",
      bridge,
      permissions: { mode: "safe", allow: [], deny: [] },
      session: "0b6a4e6e-0000-4000-8000-000000000001",
      isRoot: false,
      ...more,
    };
    return follow(driver, order, kill);
  };

  const { features } = driver;

  describe(`driver ${driver.name}`, () => {
    it("tells of a success: words, tools, files, tokens", async () => {
      const { verdict, evidence } = await run(
        `@say Working.\n@write made.txt hello\n@usage 300 40 0.5\n@say All done.`,
      );
      expect(verdict).toMatchObject({ kind: "done", summary: "All done." });
      if (driver.name !== "command") expect(evidence.tools).toBe(1);
      if (features.tokens) expect(evidence.used).toMatchObject({ input: 300, output: 40 });
    });

    it("knows the conversation, and goes on with it", async () => {
      if (features.resumes === "never") return;
      const first = await run("@say One.");
      expect(first.evidence.session).toBeTypeOf("string");
      const second = await run("@say Two.", { resume: first.evidence.session as string });
      expect(second.evidence.session).toBe(first.evidence.session);
    });

    it("tells of a failure of the provider", async () => {
      expect((await run("@fail 401 Invalid API key")).verdict.kind).toBe("auth");
      expect((await run("@fail 503 503 Service Unavailable")).verdict.kind).toBe("overloaded");
    });

    it("tells of a limit, and when it ends where that is said", async () => {
      const { verdict } = await run("@say Begun.\n@limit");
      expect(["rate-limit", "quota"]).toContain(verdict.kind);
    });

    it("takes new tries of the program's own for no end", async () => {
      expect((await run("@retry 429 10\n@say Done.")).verdict.kind).toBe("done");
    });

    it("takes an end in the middle of a turn for none", async () => {
      // A bridge says that its agent is gone; without one the process of the agent speaks for itself.
      const [killed, left] = bridge === argv ? ["signal", "exit"] : ["unknown", "unknown"];
      expect((await run("@say Begun.\n@crash")).verdict).toMatchObject({ kind: killed });
      expect((await run("@say Begun.\n@exit 3")).verdict).toMatchObject({ kind: left });
      if (features.endsTurns) expect((await run("@say Begun.\n@silent")).verdict).toMatchObject({ kind: "unknown" });
    });

    it("takes a refused tool for no success", async () => {
      if (!tellsDenials) return;
      expect((await run("@denied Bash\n@say All done.")).verdict.kind).toBe("permission");
    });

    it("takes zero tokens for no success", async () => {
      if (!features.tokens) return;
      expect((await run("@usage 0 0\n@say All done.")).verdict.kind).toBe("unknown");
    });

    it("reads on after lines that it does not understand", async () => {
      const { verdict } = await run("@garbage\n@unknown\n@bytes\n@long 10485760\n@say All done.");
      expect(verdict).toMatchObject({ kind: "done", summary: "All done." });
    });

    it("gives over a prompt of 200 KB", async () => {
      const { verdict } = await run(`${"word ".repeat(40_000)}\n@say Read it.`);
      expect(verdict).toMatchObject({ kind: "done", summary: "Read it." });
    });

    it("gives back a structured result", async () => {
      const faults = (result: unknown) => (JSON.stringify(result) === '{"files":["a"]}' ? [] : ["another result"]);
      const schema = { type: "object" };
      const { evidence, exit } = await run('@result {"files":["a"]}', { schema });
      expect(judged(driver, evidence, exit, faults)).toMatchObject({ kind: "done", result: { files: ["a"] } });
    });

    it("is stopped before its first sign, and after", async () => {
      expect((await run("@mute\n@hang", {}, () => true)).verdict.kind).not.toBe("done");
      expect((await run("@say Begun.\n@hang", {}, ({ said }) => said !== undefined)).verdict.kind).not.toBe("done");
    });

    it("has its end before its process is gone", async () => {
      if (!features.endsTurns) return;
      const { verdict } = await run("@say All done.\n@linger", {}, ({ ended }) => ended !== undefined);
      // That it was stopped only after its last record is the executor's knowledge, which asks the evidence.
      expect(verdict.kind).not.toBe("done");
    });
  });
}

const judged = (
  driver: Driver,
  evidence: Evidence,
  exit: Exit,
  faults?: (result: unknown) => readonly string[],
): Verdict =>
  classified(evidence, exit, undefined, {
    endsTurns: driver.features.endsTurns,
    tokens: driver.features.tokens,
    silent: driver.name === "command",
    report: false,
    now: instant(0),
    zone: millis(0),
    ...(driver.exit !== undefined && { exit: driver.exit }),
    ...(faults !== undefined && { faults }),
  });

/** Runs what the driver starts, and reads all of it. `kill` says when to stop it. */
async function follow(driver: Driver, order: AgentOrder, kill?: (evidence: Evidence) => boolean): Promise<Ran> {
  const start = driver.start(order);
  for (const [name, words] of Object.entries(start.files)) writeFileSync(join(order.files, name), words);
  const stdin = openSync(start.stdin === "prompt" ? order.promptFile : "/dev/null", "r");
  const env = { PATH: `${dirname(process.execPath)}:/usr/bin:/bin`, ...start.env };
  const [program, ...args] = start.argv;
  const child = spawn(program, args, { env, cwd: order.files, stdio: [stdin, "pipe", "pipe"] });
  closeSync(stdin);
  const reader = driver.open();
  let evidence = NO_EVIDENCE;
  for (const [stream, pipe] of [
    ["out", child.stdout],
    ["err", child.stderr],
  ] as const) {
    const lines = new AgentStream(reader, stream);
    pipe?.on("data", (chunk: Buffer) => {
      evidence = lines.push(chunk).reduce(learned, evidence);
      if (kill?.(evidence) === true) child.kill("SIGTERM");
    });
    pipe?.on("end", () => {
      evidence = lines.end().reduce(learned, evidence);
    });
  }
  if (kill?.(evidence) === true) child.once("spawn", () => child.kill("SIGTERM"));
  const exit = await new Promise<Exit>((resolve) => {
    child.on("close", (code, signal) => resolve(code === null ? { signal: signal as string } : { code }));
  });
  return { evidence, exit, verdict: judged(driver, evidence, exit) };
}
