/** The bridge as the process that it is, between a scripted agent and its attempt. */
import { type ChildProcess, spawn } from "node:child_process";
import {
  appendFileSync,
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { BridgeReader } from "../acp/read.ts";
import type { PermissionMode } from "../driver.ts";
import { type Evidence, learned, NO_EVIDENCE } from "../evidence.ts";
import { AgentStream } from "../stream.ts";
import type { AgentEvent } from "../vocabulary.ts";
import { type BridgeOrder, INBOX } from "./order.ts";

const MAIN = fileURLToPath(new URL("main.ts", import.meta.url));
const AGENT = fileURLToPath(new URL("../../../test/rig/agent/acp.ts", import.meta.url));
const NODE = [process.execPath, "--disable-warning=ExperimentalWarning"] as const;

interface Ended {
  readonly code: number | null;
  readonly events: readonly AgentEvent[];
  readonly evidence: Evidence;
}

class Attempt {
  readonly directory = mkdtempSync(join(tmpdir(), "rota-bridge-"));
  #child: ChildProcess | undefined;

  start(prompt: string, order: Partial<BridgeOrder>, heard: (event: AgentEvent) => void = () => {}): Promise<Ended> {
    const told: BridgeOrder = { argv: [...NODE, AGENT], permissions: { mode: "safe", allow: [], deny: [] }, ...order };
    const orderFile = join(this.directory, "bridge.json");
    writeFileSync(orderFile, JSON.stringify(told));
    writeFileSync(join(this.directory, "prompt.md"), prompt);
    const stdin = openSync(join(this.directory, "prompt.md"), "r");
    const env = { PATH: `${dirname(process.execPath)}:/usr/bin:/bin` };
    const [program, ...args] = [...NODE, MAIN, orderFile];
    const child = spawn(program, args, { cwd: this.directory, env, stdio: [stdin, "pipe", "inherit"] });
    closeSync(stdin);
    this.#child = child;
    const events: AgentEvent[] = [];
    const stream = new AgentStream(new BridgeReader(), "out");
    child.stdout?.on("data", (chunk: Buffer) => {
      for (const event of stream.push(chunk)) {
        events.push(event);
        heard(event);
      }
    });
    return new Promise((resolve) => {
      child.once("close", (code) => resolve({ code, events, evidence: events.reduce(learned, NO_EVIDENCE) }));
    });
  }

  say(line: object): void {
    appendFileSync(join(this.directory, INBOX), `${JSON.stringify(line)}\n`);
  }

  kill(signal: NodeJS.Signals): void {
    this.#child?.kill(signal);
  }
}

let attempt: Attempt;
beforeEach(() => {
  attempt = new Attempt();
});
afterEach(() => {
  attempt.kill("SIGKILL");
  rmSync(attempt.directory, { recursive: true, force: true });
});

const permissions = (mode: PermissionMode) => ({ permissions: { mode, allow: [], deny: [] } });

describe("the bridge", () => {
  it("prints a turn in our vocabulary, and ends well", async () => {
    const { code, evidence } = await attempt.start("@write made.txt hello\n@usage 300 40\n@say All done.", {});
    expect(code).toBe(0);
    expect(evidence).toMatchObject({
      said: "All done.",
      tools: 1,
      used: { input: 300, output: 40 },
      ended: { ok: true },
    });
    expect(evidence.session).toBeTypeOf("string");
    expect(readFileSync(join(attempt.directory, "made.txt"), "utf8")).toBe("hello\n");
  });

  it("refuses what the plan does not allow", async () => {
    const { evidence } = await attempt.start("@run touch made.txt\n@say All done.", permissions("safe"));
    expect(evidence).toMatchObject({ denied: 1, ended: { denied: 1 } });
    expect(existsSync(join(attempt.directory, "made.txt"))).toBe(false);
  });

  it("allows everything where the plan does", async () => {
    await attempt.start("@run touch made.txt", permissions("all"));
    expect(existsSync(join(attempt.directory, "made.txt"))).toBe(true);
  });

  it.each([
    ["proceed", true],
    ["yes", true],
    ["no", false],
  ])("waits for a person where a permission is to be asked for: %s", async (option, isAllowed) => {
    const { events } = await attempt.start("@run touch made.txt", permissions("ask"), (event) => {
      if (event.kind === "asked") attempt.say({ answer: event.id, option });
    });
    expect(events).toContainEqual(
      expect.objectContaining({ kind: "asked", question: "May the agent use execute: touch made.txt?" }),
    );
    expect(existsSync(join(attempt.directory, "made.txt"))).toBe(isAllowed);
  });

  it("gives what people say to the agent as its next turn", async () => {
    const { evidence, events } = await attempt.start("@sleep 300\n@say First.", {}, (event) => {
      if (event.kind === "session") attempt.say({ tell: "@say Second, as told." });
    });
    expect(evidence.said).toBe("Second, as told.");
    expect(events.filter(({ kind }) => kind === "ended")).toHaveLength(2);
  });

  it.each([["--no-resume"], ["--resume"]])(
    "goes on with a conversation, and does not say again what was said (%s)",
    async (way) => {
      const { evidence, events } = await attempt.start("@say Goes on.", { argv: [...NODE, AGENT, way], resume: "old" });
      expect(evidence.session).toBe("old");
      expect(events.filter(({ kind }) => kind === "said").map((event) => (event as { text: string }).text)).toEqual([
        "Goes",
        " on.",
      ]);
    },
  );

  it("says that a conversation is not known any more", async () => {
    const { code, evidence } = await attempt.start("@say Goes on.", {
      argv: [...NODE, AGENT, "--knows=other"],
      resume: "old",
    });
    expect(code).toBe(1);
    expect(evidence.ended?.error?.message).toContain("Session old not found");
  });

  it("ends its agent with itself", async () => {
    const started = Date.now();
    const { code, evidence } = await attempt.start("@say Begun.\n@hang", {}, (event) => {
      if (event.kind === "said") attempt.kill("SIGTERM");
    });
    expect(code).toBe(143);
    expect(evidence.ended).toMatchObject({ ok: false, error: { type: "cancelled" } });
    expect(Date.now() - started).toBeLessThan(15_000);
  });

  it("says that an agent died, or was never there", async () => {
    const died = await attempt.start("@say Begun.\n@crash", {});
    expect(died).toMatchObject({ code: 1, evidence: { ended: { ok: false } } });
    const missing = await attempt.start("@say Begun.", { argv: ["/no/such/agent"] });
    expect(missing.code).toBe(1);
    expect(missing.evidence.ended?.error?.message).toMatch(/\/no\/such\/agent could not be started/);
  });

  it("says what the program says is wrong", async () => {
    const { evidence } = await attempt.start("@fail 401 Invalid API key", {});
    expect(evidence.ended).toMatchObject({ ok: false, error: { status: 401, message: "Invalid API key" } });
  });
});
