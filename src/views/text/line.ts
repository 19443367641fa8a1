/**
 * Lines as spans of text with a tone each. Views build these; `paint` alone turns them into bytes, so that there is one place
 * where text is made harmless, measured, cut and coloured.
 */
import { displayWidth, neutralize, toAscii, truncate } from "./text.ts";

/** Few tones, and each with one meaning. */
export const TONES = ["strong", "quiet", "good", "bad", "busy", "warn"] as const;
export type Tone = (typeof TONES)[number];

export interface Toned {
  readonly text: string;
  readonly tone: Tone;
  /** Of use as a whole only: its line is never cut, and the terminal breaks it. */
  readonly whole?: true;
}
export type Span = string | Toned;
export type Line = readonly Span[];

/** What the terminal can show. */
export interface Theme {
  readonly color: boolean;
  /** Whether its locale is UTF-8. */
  readonly unicode: boolean;
  /** Where the reader lives, as an IANA name; the machine's own when absent. */
  readonly timeZone?: string;
}

export const toned = (tone: Tone, text: string): Toned => ({ text, tone });
export const strong = (text: string): Toned => toned("strong", text);
export const quiet = (text: string): Toned => toned("quiet", text);
/** The path of a file, to be copied. */
export const path = (text: string): Toned => ({ ...quiet(text), whole: true });

const SGR: Readonly<Record<Tone, string>> = {
  strong: "1",
  quiet: "2",
  good: "32",
  bad: "31",
  busy: "36",
  warn: "33",
};

const isWhole = (span: Span): boolean => typeof span !== "string" && span.whole === true;
const textOf = (span: Span): string => (typeof span === "string" ? span : span.text);

/** How many columns a line takes. */
export const lineWidth = (line: Line): number =>
  line.reduce((width, span) => width + displayWidth(neutralize(textOf(span))), 0);

/** The line as a terminal takes it: at most `columns` wide, nothing in it but text and our own colours. */
export function paint(line: Line, theme: Theme, columns = Number.POSITIVE_INFINITY): string {
  const spans = cut(line, columns);
  const last = spans.findLastIndex((span) => textOf(span).trimEnd() !== "");
  return spans
    .slice(0, last + 1)
    .map((span, index) => paintSpan(span, theme, index === last))
    .join("");
}

export const paintAll = (lines: readonly Line[], theme: Theme, columns?: number): string[] =>
  lines.map((line) => paint(line, theme, columns));

/** Sections with an empty line between them; sections without a line are left out. */
export function paintSections(sections: readonly (readonly Line[])[], theme: Theme, columns: number): string[] {
  const filled = sections.filter((section) => section.length > 0);
  const lines = filled.flatMap((section, at) => (at === 0 ? section : [[], ...section]));
  return paintAll(lines, theme, columns);
}

function paintSpan(span: Span, { color, unicode }: Theme, isLast: boolean): string {
  const safe = neutralize(textOf(span));
  const text = unicode ? safe : toAscii(safe);
  const trimmed = isLast ? text.trimEnd() : text;
  return typeof span === "string" || !color || trimmed === ""
    ? trimmed
    : `\u001b[${SGR[span.tone]}m${trimmed}\u001b[0m`;
}

/** The line in at most `columns`, ending in an ellipsis when it was cut. */
function cut(line: Line, columns: number): Line {
  if (!Number.isFinite(columns) || line.some(isWhole) || lineWidth(line) <= columns) return line;
  const kept: Span[] = [];
  let left = columns;
  for (const span of line) {
    const text = neutralize(textOf(span));
    const width = displayWidth(text);
    // More text follows, or this is too wide: either way the ellipsis stands here.
    const short = width < left ? text : truncate(`${text} `, left);
    kept.push(typeof span === "string" ? short : toned(span.tone, short));
    if (width >= left) break;
    left -= width;
  }
  return kept;
}

export interface Column {
  readonly align?: "left" | "right";
  /** The column may be made narrower than its content when there is too little room, down to this width. */
  readonly shrinkTo?: number;
}

export interface TableOptions {
  readonly columns: readonly Column[];
  readonly width: number;
  readonly indent?: number;
  readonly gap?: number;
}

/** Rows of cells as aligned lines. Empty columns take no room. */
export function table(
  rows: readonly (readonly Line[])[],
  { columns, width, indent = 2, gap = 2 }: TableOptions,
): Line[] {
  const natural = columns.map((_, at) => rows.reduce((most, row) => Math.max(most, lineWidth(row[at] ?? [])), 0));
  const used = natural.flatMap((size, at) => (size > 0 ? [at] : []));
  const room = width - indent - gap * Math.max(0, used.length - 1);
  const sizes = shrink(natural, columns, room);
  return rows.map((row) => {
    const line: Span[] = [" ".repeat(indent)];
    used.forEach((at, index) => {
      if (index > 0) line.push(" ".repeat(gap));
      line.push(...pad(row[at] ?? [], sizes[at] as number, columns[at]?.align ?? "left"));
    });
    return line;
  });
}

/** Takes from the widest column that may be narrower, until all fit or none can get narrower. */
function shrink(natural: readonly number[], columns: readonly Column[], room: number): readonly number[] {
  const sizes = [...natural];
  let excess = sizes.reduce((sum, size) => sum + size, 0) - room;
  while (excess > 0) {
    let widest = -1;
    columns.forEach(({ shrinkTo }, at) => {
      const size = sizes[at] as number;
      if (shrinkTo !== undefined && size > shrinkTo && (widest < 0 || size > (sizes[widest] as number))) widest = at;
    });
    if (widest < 0) break;
    sizes[widest] = (sizes[widest] as number) - 1;
    excess--;
  }
  return sizes;
}

/** The line in exactly `width` columns. */
export function pad(line: Line, width: number, align: "left" | "right" = "left"): Line {
  const short = cut(line, width);
  const padding = " ".repeat(Math.max(0, width - lineWidth(short)));
  if (padding === "") return short;
  return align === "left" ? [...short, padding] : [padding, ...short];
}
