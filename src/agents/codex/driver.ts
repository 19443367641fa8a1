/** Codex (`codex exec --json`). */
import type { Driver } from "../driver.ts";
import { CodexReader } from "./read.ts";
import { start } from "./start.ts";

export const codex: Driver = {
  name: "codex",
  program: {
    command: ["codex"],
    version: ["--version"],
    login: ["login", "status"],
    env: ["OPENAI_API_KEY", "OPENAI_BASE_URL", "CODEX_API_KEY", "CODEX_HOME"],
  },
  features: {
    asks: false,
    resumes: "anywhere",
    mcp: true,
    schema: true,
    model: true,
    effort: true,
    endsTurns: true,
    tokens: true,
  },
  start,
  open: (before) => new CodexReader(before),
};
