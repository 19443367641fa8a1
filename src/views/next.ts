/** What to do next: commands a person can copy. */
import { type Line, lineWidth, quiet, strong, toned } from "./line.ts";

/** Commands and what each is for, under one heading. */
export function commandLines(commands: readonly (readonly [string, string])[]): Line[] {
  if (commands.length === 0) return [];
  const width = Math.max(...commands.map(([command]) => lineWidth([command])));
  return [
    [strong("Next")],
    ...commands.map(
      ([command, purpose]): Line => [
        "  ",
        toned("busy", command),
        " ".repeat(width - lineWidth([command]) + 2),
        quiet(purpose),
      ],
    ),
  ];
}

/**
 * Writes a command, given as its words, so that it reaches what is spoken of from where it is read. `run` is given where the run that is meant
 * is not the newest, which commands take when no run is named.
 */
export type CommandWriter = (words: readonly string[], run?: string) => string;

/** For a reader who is in the right place: nothing but the words. */
export const plainCommand: CommandWriter = (words, run) =>
  ["rota", ...[...words, ...runWords(words, run)].map(shellWord)].join(" ");

/** Looks at a whole run take it as an argument. */
export const runWords = ([name]: readonly string[], run: string | undefined): readonly string[] =>
  run === undefined ? [] : name === "status" || name === "timeline" ? [run] : ["--run", run];

/** As a shell takes it: in quotes where it must be. */
export const shellWord = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
