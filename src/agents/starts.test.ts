/** What each driver starts. No prompt is an argument that may be long, and no standard input stays open. */
import { describe, expect, it } from "vitest";
import type { AgentOrder, DriverName } from "./driver.ts";
import { DRIVER_OF } from "./drivers.ts";

const order = (more: Partial<AgentOrder> = {}): AgentOrder => ({
  prompt: "Build the API.",
  promptFile: "/attempt/prompt.md",
  files: "/attempt",
  argv: ["agent"],
  promptWay: "stdin",
  bridge: ["node", "bridge.js"],
  permissions: { mode: "safe", allow: [], deny: [] },
  session: "0b6a4e6e-0000-4000-8000-000000000001",
  isRoot: false,
  ...more,
});
const start = (driver: DriverName, more: Partial<AgentOrder> = {}) => DRIVER_OF[driver].start(order(more));
const words = (driver: DriverName, more: Partial<AgentOrder> = {}) => start(driver, more).argv.join(" ");
const MCP = { name: "rota", argv: ["rota", "mcp", "--attempt"], env: { ROTA_TOKEN_FILE: "/attempt/token" } } as const;

describe("a prompt of 200 KB", () => {
  const prompt = "x".repeat(200_000);
  it.each(Object.keys(DRIVER_OF) as DriverName[])("is no argument of %s", (driver) => {
    for (const promptWay of ["stdin", "argument", "file"] as const) {
      const { argv, stdin } = start(driver, { prompt, promptWay });
      expect(Math.max(...argv.map((each) => each.length))).toBeLessThan(10_000);
      expect(stdin === "prompt" || argv.some((each) => each.includes("/attempt/prompt.md"))).toBe(true);
    }
  });
});

describe("claude", () => {
  it("names a new conversation, or goes on with one", () => {
    expect(words("claude")).toContain("--session-id 0b6a4e6e-0000-4000-8000-000000000001");
    expect(words("claude", { resume: "abc" })).toContain("--resume abc");
    expect(words("claude", { resume: "abc" })).not.toContain("--session-id");
  });

  it("says permissions in its words", () => {
    const permissions = { mode: "safe", allow: ["shell(npm test)"], deny: ["fetch"] } as const;
    expect(words("claude", { permissions })).toMatch(
      /--disallowedTools WebFetch .*--allowedTools \S*,Bash\(npm test\)/,
    );
    expect(words("claude", { permissions: { mode: "all", allow: [], deny: [] } })).toContain(
      "--dangerously-skip-permissions",
    );
    expect(words("claude", { permissions: { mode: "all", allow: [], deny: [] }, isRoot: true })).toMatch(
      /--allowedTools \S*Bash/,
    );
  });

  it("has our server in a file of the attempt, and never the user's configuration", () => {
    const { argv, files } = start("claude", { mcp: MCP });
    expect(argv.join(" ")).toContain("--mcp-config /attempt/mcp.json");
    expect(JSON.parse(files["mcp.json"] ?? "")).toEqual({
      mcpServers: { rota: { command: "rota", args: ["mcp", "--attempt"], env: { ROTA_TOKEN_FILE: "/attempt/token" } } },
    });
  });

  it("asks a person by our server where permissions are to be asked for", () => {
    expect(words("claude", { mcp: MCP, permissions: { mode: "ask", allow: [], deny: [] } })).toContain(
      "--permission-prompt-tool mcp__rota__permission",
    );
  });
});

describe("codex", () => {
  it("has its options before resume, and the prompt on standard input", () => {
    expect(words("codex", { model: "m", resume: "thread" })).toBe(
      "agent exec --json --skip-git-repo-check -m m --sandbox workspace-write resume thread -",
    );
    expect(start("codex").stdin).toBe("prompt");
  });

  it("approves the calls of our server beforehand", () => {
    expect(words("codex", { mcp: MCP })).toContain(
      'mcp_servers.rota={command="rota",args=["mcp","--attempt"],env={"ROTA_TOKEN_FILE"="/attempt/token"},default_tools_approval_mode="approve"}',
    );
  });

  it("has the schema of the result in a file", () => {
    const { argv, files } = start("codex", { schema: { type: "object" } });
    expect(argv.join(" ")).toContain("--output-schema /attempt/schema.json");
    expect(files["schema.json"]).toBe('{"type":"object"}');
  });
});

describe("gemini", () => {
  it("has our server among the defaults, which the user's settings go before", () => {
    const { env, files } = start("gemini", { mcp: MCP });
    expect(env["GEMINI_CLI_SYSTEM_DEFAULTS_PATH"]).toBe("/attempt/gemini.json");
    expect(JSON.parse(files["gemini.json"] ?? "")).toMatchObject({
      mcpServers: { rota: { command: "rota", trust: true } },
    });
    expect(start("gemini").files).toEqual({});
  });

  it("knows the HTTP status in its exit code", () => {
    expect(DRIVER_OF.gemini.exit?.(145)).toMatchObject({ status: 401 });
    expect(DRIVER_OF.gemini.exit?.(173)).toMatchObject({ status: 429 });
    expect(DRIVER_OF.gemini.exit?.(42)).toMatchObject({ message: expect.stringContaining("resume") });
    expect(DRIVER_OF.gemini.exit?.(1)).toBeUndefined();
  });
});

describe("acp", () => {
  it("tells the bridge the program, what to go on with, and what that had used", () => {
    const { argv, files, stdin } = start("acp", { resume: "old", before: { cost: 0.5 }, model: "m", mcp: MCP });
    expect(argv).toEqual(["node", "bridge.js", "/attempt/bridge.json"]);
    expect(stdin).toBe("prompt");
    expect(JSON.parse(files["bridge.json"] ?? "")).toEqual({
      argv: ["agent"],
      permissions: { mode: "safe", allow: [], deny: [] },
      mcp: { name: "rota", argv: ["rota", "mcp", "--attempt"], env: { ROTA_TOKEN_FILE: "/attempt/token" } },
      model: "m",
      resume: "old",
      before: { cost: 0.5 },
    });
  });
});

describe("command", () => {
  it("is given its prompt as the plan says", () => {
    expect(start("command")).toMatchObject({ argv: ["agent"], stdin: "prompt" });
    expect(start("command", { promptWay: "argument" })).toMatchObject({
      argv: ["agent", "Build the API."],
      stdin: "nothing",
    });
    expect(start("command", { promptWay: "file" })).toMatchObject({
      argv: ["agent", "/attempt/prompt.md"],
      stdin: "nothing",
    });
  });
});
