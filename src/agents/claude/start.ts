/** How Claude Code is started for an order. */
import type { AgentOrder, Start } from "../driver.ts";

/** What `safe` allows without asking: reading, and edits inside the directory. */
const SAFE_TOOLS = ["Read", "Glob", "Grep", "Edit", "Write", "NotebookEdit", "TodoWrite", "Task"];

export function start(order: AgentOrder): Start {
  const files: Record<string, string> = {};
  const argv: [string, ...string[]] = [...order.argv, "-p", "--output-format", "stream-json", "--verbose"];
  if (order.model !== undefined) argv.push("--model", order.model);
  if (order.effort !== undefined) argv.push("--effort", order.effort);
  argv.push(...(order.resume === undefined ? ["--session-id", order.session] : ["--resume", order.resume]));
  if (order.schema !== undefined) argv.push("--json-schema", JSON.stringify(order.schema));
  if (order.mcp !== undefined) {
    const { name, argv: server, env } = order.mcp;
    files["mcp.json"] = JSON.stringify({ mcpServers: { [name]: { command: server[0], args: server.slice(1), env } } });
    argv.push("--mcp-config", `${order.files}/mcp.json`);
  }
  argv.push(...permissions(order));
  const env = { CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1", DISABLE_AUTOUPDATER: "1", ENABLE_TOOL_SEARCH: "false" };
  return { argv, env, stdin: "prompt", files };
}

function permissions({ permissions: { mode, allow, deny }, mcp, isRoot }: AgentOrder): string[] {
  const denied = deny.length === 0 ? [] : ["--disallowedTools", deny.map(inItsWords).join(",")];
  if (mode === "all" && !isRoot) return [...denied, "--dangerously-skip-permissions"];
  // Root may not skip permissions: every tool is allowed by name instead.
  const tools = mode === "all" ? [...SAFE_TOOLS, "Bash", "WebFetch", "WebSearch"] : SAFE_TOOLS;
  const ours = mcp === undefined ? [] : [`mcp__${mcp.name}`];
  const asks = mode === "ask" && mcp !== undefined ? ["--permission-prompt-tool", `mcp__${mcp.name}__permission`] : [];
  return [
    ...denied,
    "--permission-mode",
    "acceptEdits",
    ...asks,
    "--allowedTools",
    [...tools, ...ours, ...allow.map(inItsWords)].join(","),
  ];
}

/** `shell(npm test)` is `Bash(npm test)` here; `edit`, `read` and `fetch` are its tools of that kind. */
function inItsWords(pattern: string): string {
  const [, tool = pattern, argument] = /^([^(]+)(?:\((.*)\))?$/s.exec(pattern) ?? [];
  const own =
    { shell: "Bash", edit: "Edit", write: "Write", read: "Read", fetch: "WebFetch", search: "WebSearch" }[tool] ?? tool;
  return argument === undefined ? own : `${own}(${argument})`;
}
