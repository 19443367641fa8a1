/** Diagnostics as a compiler shows them: the place, what is wrong, the line with a mark under it, and what to do. */
import { type Line, quiet, strong, toned } from "../../../views/text/line.ts";
import { displayWidth, neutralize, truncate } from "../../../views/text/text.ts";

export interface Diagnostic {
  readonly code: string;
  readonly severity: "error" | "warning";
  readonly message: string;
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly hint: string;
}

/** How much of a line is shown: a plan in one line of JSON has lines without end. */
const BEFORE_MAX = 60;
const SHOWN_MAX = 110;

export function diagnosticLines(diagnostics: readonly Diagnostic[], text: string): Line[] {
  const lineOf = linesOf(text.startsWith("\ufeff") ? text.slice(1) : text);
  return diagnostics.flatMap((diagnostic) => [...lines(diagnostic, lineOf(diagnostic.line)), []]);
}

function lines({ file, line, column, severity, code, message, hint }: Diagnostic, source: string | undefined): Line[] {
  const head: Line = [
    strong(`${file}:${line}:${column}`),
    ": ",
    toned(severity === "error" ? "bad" : "warn", severity),
    " ",
    quiet(code),
    ": ",
    message,
  ];
  const number = String(line);
  const gutter = " ".repeat(number.length);
  const excerpt = source === undefined || source.trim() === "" ? [] : excerptOf(source, column, number, gutter);
  return [head, ...excerpt, [quiet(`${gutter} = `), hint]];
}

function excerptOf(source: string, column: number, number: string, gutter: string): Line[] {
  const from = Math.max(0, column - 1 - BEFORE_MAX);
  const start = from === 0 ? "" : "…";
  const before = neutralize(source.slice(from, column - 1));
  const shown = truncate(`${start}${before}${neutralize(source.slice(column - 1, from + SHOWN_MAX))}`, SHOWN_MAX);
  const indent = " ".repeat(displayWidth(start) + displayWidth(before));
  return [
    [quiet(`${number} | `), shown],
    [quiet(`${gutter} | `), indent, toned("bad", "^")],
  ];
}

/** Finds lines by number, which are asked for in order: one walk over the text for all of them. */
function linesOf(text: string): (line: number) => string | undefined {
  let at = 0;
  let current = 1;
  return (line) => {
    if (line < current) [at, current] = [0, 1];
    for (; current < line; current++) {
      const next = text.indexOf("\n", at);
      if (next === -1) return undefined;
      at = next + 1;
    }
    const end = text.indexOf("\n", at);
    return text.slice(at, end === -1 ? undefined : end).replace(/\r$/, "");
  };
}
