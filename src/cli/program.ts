/** From what was typed to an exit code. Everything that goes wrong on the way is said here, in one form. */
import { UserError } from "../domain/errors.ts";
import type { CommandSpec, Context } from "./command.ts";
import { parseCommandLine } from "./parse.ts";

export { systemTerminal } from "./terminal.ts";

/** The program met a fault of its own: what BSD's sysexits call EX_SOFTWARE. */
const EXIT_BUG = 70;

export async function runProgram(args: readonly string[], context: Context): Promise<number> {
  try {
    const { COMMANDS } = await import("./commands.ts");
    return await obey(args, COMMANDS, context);
  } catch (error) {
    return await report(whatWentWrong(error), context);
  }
}

async function obey(args: readonly string[], commands: readonly CommandSpec[], context: Context): Promise<number> {
  const line = parseCommandLine(args, commands);
  switch (line.kind) {
    case "version": {
      const { version } = await import("./version.ts");
      context.terminal.out(`${version()}\n`);
      return 0;
    }
    case "help": {
      const { helpOn } = await import("./help.ts");
      const text = helpOn(line.command ?? line.family, commands, context.terminal);
      // Without a command there is nothing to do, and a script should notice.
      if (line.asked) context.terminal.out(text);
      else context.terminal.err(text);
      return line.asked ? 0 : 2;
    }
    case "command": {
      const { run } = await line.command.load();
      return await run(line.input, context);
    }
  }
}

/**
 * What went wrong on the way out hides what went wrong first. Told is what the user can put right, the first of these; else the first fault.
 */
function whatWentWrong(error: unknown): unknown {
  const all: unknown[] = [];
  let outer = error;
  for (; outer instanceof SuppressedError; outer = outer.suppressed) all.unshift(outer.error);
  all.unshift(outer);
  return all.find((each) => each instanceof UserError) ?? all[0];
}

/** `CODE: message (hint)` for what the user can put right, one line for what only we can. */
async function report(error: unknown, { terminal, env }: Context): Promise<number> {
  // Messages quote plans, paths and arguments, which may hold anything.
  const { neutralizeLines: printable } = await import("../views/text.ts");
  if (error instanceof UserError) {
    const message = printable(error.message);
    terminal.err(`${error.code}: ${message}${message.includes("\n") ? "\n" : " "}(${printable(error.hint)})\n`);
    return error.exitCode;
  }
  const message = error instanceof Error ? error.message : String(error);
  terminal.err(`rota: internal error: ${printable(message)} (please report it; ROTA_DEBUG=1 shows where)\n`);
  if (env["ROTA_DEBUG"] === "1" && error instanceof Error) terminal.err(`${printable(error.stack ?? "")}\n`);
  return EXIT_BUG;
}
