/** All commands. Parsing, help, completion and the reference page are made from this table. */

import { AGENT_COMMANDS } from "../commands/agent/words.ts";
import { CARE_COMMANDS } from "../commands/care/words.ts";
import { CONTROL_COMMANDS } from "../commands/control/words.ts";
import { LOOK_COMMANDS } from "../commands/look/words.ts";
import { PLAN_COMMANDS } from "../commands/plan/words.ts";
import { RUN_COMMANDS } from "../commands/run/words.ts";
import type { CommandSpec } from "./command.ts";

export const COMMANDS: readonly CommandSpec[] = [
  ...PLAN_COMMANDS,
  ...RUN_COMMANDS,
  ...AGENT_COMMANDS,
  ...LOOK_COMMANDS,
  ...CONTROL_COMMANDS,
  ...CARE_COMMANDS,
  {
    name: "completion",
    group: "Look after it",
    summary: "Print a completion script for a shell",
    arguments: [{ name: "SHELL", describe: "Your shell", required: true, choices: ["bash", "zsh", "fish"] }],
    options: {},
    examples: ['eval "$(rota completion bash)"', "rota completion fish > ~/.config/fish/completions/rota.fish"],
    load: async () => {
      const { completion } = await import("./completion.ts");
      return { run: completion(COMMANDS) };
    },
  },
  {
    name: "help",
    group: "Look after it",
    summary: "Show the commands, or one of them",
    arguments: [{ name: "COMMAND", describe: "The command", required: false }],
    options: {},
    examples: ["rota help run"],
    load: () => Promise.reject(new Error("help is read before any command is loaded")),
  },
];
