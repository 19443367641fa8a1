/** Arguments and options that several commands have. */
import { type ArgumentSpec, type OptionSpec, SHARED_OPTIONS } from "../frame/command.ts";

export const { state, json } = SHARED_OPTIONS;
export const PLAN: ArgumentSpec = {
  name: "PLAN",
  describe: "The plan, YAML or JSON; `-` reads it from standard input",
  required: true,
  completes: "file",
};
export const TASK: ArgumentSpec = { name: "TASK", describe: "The id of a task", required: true };
export const RUN: ArgumentSpec = {
  name: "RUN",
  describe: "A run: its id, the start of it, or `last`",
  required: false,
};
export const run: OptionSpec = {
  kind: "text",
  value: "ID",
  describe: "The run: its id, the start of it, or `last`",
  fallback: "the newest",
};
export const why: OptionSpec = { kind: "text", value: "TEXT", describe: "The reason, kept with the record of it" };
export const workers: OptionSpec = {
  kind: "count",
  short: "j",
  value: "N",
  describe: "How many tasks may run at once",
  fallback: "one per core",
};
export const stateOfPlan: OptionSpec = {
  ...state,
  fallback: "$ROTA_STATE, else .rota at the root of the plan's project",
};
export const jsonAtEnd: OptionSpec = { kind: "flag", describe: "Print one line of JSON at the end, for programs" };
export const svg: OptionSpec = { kind: "flag", describe: "Draw it as an SVG picture" };
export const html: OptionSpec = { kind: "flag", describe: "Draw it as a page of its own" };
export const output: OptionSpec = {
  kind: "text",
  short: "o",
  value: "FILE",
  describe: "Write to this file instead of the terminal",
  completes: "file",
};
export const socket: OptionSpec = {
  kind: "text",
  value: "PATH",
  describe: "The daemon's socket",
  fallback: "$ROTA_SOCKET, else that of the state directory",
  completes: "file",
};
/** What every command that needs a daemon has. */
export const daemon = { json, state, socket };
