/** How a command says its result: one line of JSON for programs, in the shape that is known for the command, and lines for people. */

import { neutralize } from "../views/text.ts";
import type { OutputName, Printed } from "../wire/replies/output.ts";
import type { Context, Input } from "./command.ts";

export function say<Name extends OutputName>(
  input: Input,
  { terminal }: Pick<Context, "terminal">,
  value: Printed<Name>,
  lines: () => readonly string[],
): void {
  if (input.flag("json")) terminal.out(`${JSON.stringify(value)}\n`);
  else
    terminal.out(
      lines()
        .map((line) => `${line}\n`)
        .join(""),
    );
}

/** A sentence that quotes what others wrote. */
export const sentence = (text: string): readonly string[] => [neutralize(text)];
