/** Claude Code (`claude -p --output-format stream-json`). */
import type { Driver } from "../driver.ts";
import { ClaudeReader } from "./read.ts";
import { start } from "./start.ts";

export const claude: Driver = {
  name: "claude",
  program: {
    command: ["claude"],
    version: ["--version"],
    login: ["auth", "status", "--json"],
    env: [
      "ANTHROPIC_API_KEY",
      "ANTHROPIC_BASE_URL",
      "ANTHROPIC_AUTH_TOKEN",
      "CLAUDE_CODE_OAUTH_TOKEN",
      "CLAUDE_CONFIG_DIR",
    ],
  },
  features: {
    asks: true,
    resumes: "anywhere",
    mcp: true,
    schema: true,
    model: true,
    effort: true,
    endsTurns: true,
    tokens: true,
  },
  start,
  open: (before) => new ClaudeReader(before),
};
