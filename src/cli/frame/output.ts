/** Where a result goes and in which form: to the terminal or a file, for people, programs or browsers. */
import { writeFile } from "node:fs/promises";
import { relative, resolve } from "node:path";
import { UserError } from "../../domain/errors.ts";
import { neutralize } from "../../views/text/text.ts";
import type { Context, Input } from "./command.ts";

const FORMS = ["json", "svg", "html"] as const;
export type Form = (typeof FORMS)[number] | "text";

/** The form that the user asked for. */
export function formOf(input: Input): Form {
  const asked = FORMS.filter((form) => input.flag(form));
  if (asked.length > 1) {
    throw new UserError("USAGE", `${asked.map((form) => `--${form}`).join(" and ")} cannot be asked for at once`);
  }
  return asked[0] ?? "text";
}

/** To `--output`, else to the terminal. */
export async function deliver(text: string, input: Input, { terminal, cwd }: Context): Promise<void> {
  const output = input.text("output");
  if (output === undefined) return terminal.out(text);
  const file = resolve(cwd, output);
  await writeAt(file, text);
  terminal.err(`Wrote ${neutralize(relative(cwd, file))}.\n`);
}

/** Writes what the user asked for at the place that the user named. */
export async function writeAt(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text);
  } catch (error) {
    throw new UserError("USAGE", `${file} cannot be written: ${(error as Error).message}`, {
      hint: "Choose another place.",
      cause: error,
    });
  }
}
