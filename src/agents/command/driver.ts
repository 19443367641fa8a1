/** Any program that takes a prompt and prints: its exit code says whether it is done, and what it printed last is its summary. */
import type { AgentOrder, Driver, Start } from "../driver.ts";
import { CommandReader } from "./read.ts";

export const command: Driver = {
  name: "command",
  program: { command: undefined, version: [], env: [] },
  features: {
    asks: false,
    resumes: "never",
    mcp: false,
    schema: false,
    model: false,
    effort: false,
    endsTurns: false,
    tokens: false,
  },
  start,
  open: () => new CommandReader(),
};

/** The longest argument that every Unix takes, in bytes. */
const ARGUMENT_MAX = 128 * 1024 - 1;

/** A prompt that is too long for an argument stays in its file, and the argument is the path of that file. */
function start({ argv, promptWay, prompt, promptFile }: AgentOrder): Start {
  if (promptWay === "stdin") return { argv, env: {}, stdin: "prompt", files: {} };
  const fits = promptWay === "argument" && Buffer.byteLength(prompt) <= ARGUMENT_MAX;
  return { argv: [...argv, fits ? prompt : promptFile], env: {}, stdin: "nothing", files: {} };
}
