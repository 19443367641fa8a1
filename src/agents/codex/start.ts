/** How Codex is started for an order. */
import type { AgentOrder, McpServer, Start } from "../driver.ts";

const SANDBOX = { safe: "workspace-write", ask: "workspace-write", all: "danger-full-access" } as const;

/** Options come before `resume`; the prompt is standard input (`-`). */
export function start(order: AgentOrder): Start {
  const files: Record<string, string> = {};
  const argv: [string, ...string[]] = [...order.argv, "exec", "--json", "--skip-git-repo-check"];
  if (order.model !== undefined) argv.push("-m", order.model);
  if (order.effort !== undefined) argv.push("-c", `model_reasoning_effort=${toml(order.effort)}`);
  argv.push("--sandbox", SANDBOX[order.permissions.mode]);
  if (order.mcp !== undefined) argv.push("-c", server(order.mcp));
  if (order.schema !== undefined) {
    files["schema.json"] = JSON.stringify(order.schema);
    argv.push("--output-schema", `${order.files}/schema.json`);
  }
  if (order.resume !== undefined) argv.push("resume", order.resume);
  argv.push("-");
  return { argv, env: {}, stdin: "prompt", files };
}

/** Without the approval mode every call of the server fails: `exec` has no person to approve it. */
function server({ name, argv: [command, ...args], env }: McpServer): string {
  const variables = Object.entries(env).map(([key, value]) => `${toml(key)}=${toml(value)}`);
  const fields = [
    `command=${toml(command)}`,
    `args=[${args.map(toml).join(",")}]`,
    `env={${variables.join(",")}}`,
    'default_tools_approval_mode="approve"',
  ];
  return `mcp_servers.${name}={${fields.join(",")}}`;
}

/** A basic string of TOML is one of JSON, but for DEL, which TOML wants escaped. */
const toml = (words: string): string => JSON.stringify(words).replaceAll("\u007f", "\\u007f");
