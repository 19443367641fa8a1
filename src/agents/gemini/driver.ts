/** Gemini CLI (`gemini --output-format stream-json`). */
import type { Driver } from "../driver.ts";
import { GeminiReader } from "./read.ts";
import { start } from "./start.ts";

export const gemini: Driver = {
  name: "gemini",
  program: {
    command: ["gemini"],
    version: ["--version"],
    env: [
      "GEMINI_API_KEY",
      "GOOGLE_API_KEY",
      "GOOGLE_GEMINI_BASE_URL",
      "GOOGLE_CLOUD_PROJECT",
      "GOOGLE_CLOUD_LOCATION",
      "GEMINI_CLI_HOME",
    ],
  },
  features: {
    asks: false,
    resumes: "same-directory",
    mcp: true,
    schema: false,
    model: true,
    effort: false,
    endsTurns: true,
    tokens: true,
  },
  start,
  open: () => new GeminiReader(),
  exit: exitOf,
};

const CODES: Readonly<Record<number, string>> = {
  42: "the conversation to resume is not known in this directory",
  53: "the limit of turns in gemini's settings is reached",
  55: "gemini does not trust this directory",
};

/** Where the provider refused, the exit code is the last byte of the HTTP status: 401 is 145. */
function exitOf(code: number): { readonly status?: number; readonly message: string } | undefined {
  const status = code + 256;
  if (status >= 400 && status < 512) return { status, message: `the provider answered ${status}` };
  const message = CODES[code];
  return message === undefined ? undefined : { message };
}
