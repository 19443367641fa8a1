/** Kimi Code (`kimi -p --output-format stream-json`). */
import type { AgentOrder, Driver, Start } from "../driver.ts";
import { KimiReader } from "./read.ts";

export const kimi: Driver = {
  name: "kimi",
  program: {
    command: ["kimi"],
    version: ["--version"],
    env: [
      "KIMI_MODEL_NAME",
      "KIMI_MODEL_API_KEY",
      "KIMI_MODEL_PROVIDER_TYPE",
      "KIMI_MODEL_BASE_URL",
      "MOONSHOT_API_KEY",
    ],
  },
  features: {
    asks: false,
    resumes: "same-directory",
    mcp: false,
    schema: false,
    model: true,
    effort: false,
    endsTurns: false,
    tokens: false,
  },
  start,
  open: () => new KimiReader(),
};

/** A prompt on standard input is ignored, and an argument may not be long: the argument names the file. */
function start(order: AgentOrder): Start {
  const argv: [string, ...string[]] = [...order.argv, "--output-format", "stream-json"];
  if (order.model !== undefined) argv.push("-m", order.model);
  if (order.resume !== undefined) argv.push("-S", order.resume);
  argv.push("-p", `Your task is in the file ${order.promptFile}. Read all of it first, then do what it says.`);
  return { argv, env: { KIMI_CODE_NO_AUTO_UPDATE: "1" }, stdin: "nothing", files: {} };
}
