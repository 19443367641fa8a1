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

/** As a shell takes it: in quotes where it must be. */
export const shellWord = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
