/** How a command prints its result: one line of JSON for programs, in the command's known shape, and lines for people. */

import { neutralize } from "../../views/text/text.ts";
import type { OutputName, Printed } from "../../wire/replies/output.ts";
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

/** A sentence that quotes text from other people or programs. */
export const sentence = (text: string): readonly string[] => [neutralize(text)];
