/** How Gemini CLI is started for an order. */
import type { AgentOrder, Start } from "../driver.ts";

const APPROVAL = { safe: "auto_edit", ask: "default", all: "yolo" } as const;

/**
 * The program reads MCP servers from settings alone. Ours stand in a file of defaults, which the user's own settings go before;
 * no file of the user's is written. Without a relaunch the leader of the group hears signals.
 */
export function start(order: AgentOrder): Start {
  const argv: [string, ...string[]] = [...order.argv, "--output-format", "stream-json"];
  argv.push("--approval-mode", APPROVAL[order.permissions.mode]);
  if (order.model !== undefined) argv.push("--model", order.model);
  argv.push(...(order.resume === undefined ? ["--session-id", order.session] : ["--resume", order.resume]));
  const settings = settingsFor(order);
  const env: Record<string, string> = { GEMINI_CLI_TRUST_WORKSPACE: "true", GEMINI_CLI_NO_RELAUNCH: "true" };
  if (settings !== undefined) env["GEMINI_CLI_SYSTEM_DEFAULTS_PATH"] = `${order.files}/gemini.json`;
  return {
    argv,
    env,
    stdin: "prompt",
    files: settings === undefined ? {} : { "gemini.json": JSON.stringify(settings) },
  };
}

function settingsFor({ mcp, permissions: { allow, deny } }: AgentOrder): object | undefined {
  const tools = {
    ...(allow.length > 0 && { allowed: allow.map(inItsWords) }),
    ...(deny.length > 0 && { exclude: deny.map(inItsWords) }),
  };
  if (mcp === undefined && Object.keys(tools).length === 0) return undefined;
  return {
    ...(Object.keys(tools).length > 0 && { tools }),
    ...(mcp !== undefined && {
      mcpServers: { [mcp.name]: { command: mcp.argv[0], args: mcp.argv.slice(1), env: mcp.env, trust: true } },
    }),
  };
}

/** `shell(npm test)` is `run_shell_command(npm test)` here. */
function inItsWords(pattern: string): string {
  const own = {
    shell: "run_shell_command",
    edit: "replace",
    write: "write_file",
    read: "read_file",
    fetch: "web_fetch",
  };
  const [, tool = pattern, argument] = /^([^(]+)(?:\((.*)\))?$/s.exec(pattern) ?? [];
  const name = own[tool as keyof typeof own] ?? tool;
  return argument === undefined ? name : `${name}(${argument})`;
}
