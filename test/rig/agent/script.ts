/** What the scripted agent does: lines of its prompt that begin with `@`. Without any it says that it is done. */

export interface Step {
  readonly verb: string;
  readonly words: string;
}

/** `@2:limit 1` is a step of the second attempt alone. */
const STEP = /^@(?:(\d+):)?([a-z-]+)(?: (.*))?$/;

/** The steps of this attempt. */
export function stepsOf(prompt: string, attempt: number): readonly Step[] {
  return prompt
    .split(/\r?\n/)
    .map((line) => STEP.exec(line.trim()))
    .filter((match) => match !== null)
    .filter(([, only]) => only === undefined || Number(only) === attempt)
    .map(([, , verb = "", words = ""]) => ({ verb, words }));
}

/** What a prompt without steps comes to. */
export const firstLine = (prompt: string): string =>
  prompt
    .split(/\r?\n/)
    .find((line) => line.trim() !== "")
    ?.trim() ?? "";
