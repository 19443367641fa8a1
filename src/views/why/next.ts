/** What to do next: commands a person can copy. */
import { type Line, lineWidth, quiet, strong, toned } from "../text/line.ts";

/** Commands with their purposes, under one heading. */
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
 * Writes a command, given as its words, so that it works from where the reader is. `run` is given where the run is not the newest one, which
 * commands use when no run is named.
 */
export type CommandWriter = (words: readonly string[], run?: string) => string;

/** For a reader who is in the right directory: only the words. */
export const plainCommand: CommandWriter = (words, run) =>
  ["rota", ...[...words, ...runWords(words, run)].map(shellWord)].join(" ");

/** Commands about a whole run take it as an argument; others as an option. */
export const runWords = ([name]: readonly string[], run: string | undefined): readonly string[] =>
  run === undefined ? [] : name === "status" || name === "timeline" ? [run] : ["--run", run];

/** The text as one word for a shell: in quotes where it must be. */
export const shellWord = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
