/** Text of other people and programs, made fit for a terminal: nothing in it can move a cursor, and its width is known in columns. */

import { HARMFUL, spellOut } from "../../std/visible.ts";

/** Text that no terminal acts on: the fast path for nearly all text. */
const PLAIN = /^[\x20-\x7e]*$/;
/** Colours and cursor movements that programs write into their logs; the text is readable without them. */
const STYLING = new RegExp(`${String.fromCharCode(0x1b)}\\[[0-?]*[ -/]*[@-~]`, "g");

/** One line in which every control character stands as text: `\x1b`, `\r`, `\u202e`. A tab is two spaces, and the end of a line is one. */
export function neutralize(text: string): string {
  return PLAIN.test(text) ? text : text.replace(LAST_END, "").replace(LINE_END, " ").replace(HARMFUL, spellOut);
}
const LAST_END = /(?:\r?\n)+$/;
const LINE_END = /[ \t]*(?:\r?\n)+[ \t]*/g;

/** As `neutralize`, for text of several lines: the line ends stay. */
export const neutralizeLines = (text: string): string => text.split(/\r?\n/).map(neutralize).join("\n");

/**
 * A program's line as its reader sees it: without colours, and only the last state of a progress bar. A carriage return at the end of
 * the text has overwritten nothing.
 */
export function lastShown(line: string): string {
  const states = line.replace(/\n$/, "").replace(STYLING, "").split("\r");
  return neutralize(states.findLast((state) => state.trim() !== "") ?? (states[0] as string));
}

/**
 * Western letters and our own signs: each is one grapheme and one column wide. Nearly all text that is not plain is of this kind,
 * and then the segmenter is not needed, which takes 20 ms to make: more than everything else that `rota status` does.
 */
const SIMPLE =
  /^[\x20-\x7e\u00a1-\u00ac\u00ae-\u02ff\u2010-\u2027\u2190-\u2193\u21bb\u2298\u23f8\u2500-\u25fc\u2714\u2716]*$/;

let segmenter: Intl.Segmenter | undefined;

function* graphemes(text: string): Iterable<string> {
  if (SIMPLE.test(text)) return yield* text;
  segmenter ??= new Intl.Segmenter("en", { granularity: "grapheme" });
  for (const { segment } of segmenter.segment(text)) yield segment;
}

/** East Asian wide and full-width characters; emoji are found by their own property. */
const WIDE =
  /^[\u1100-\u115f\u2329\u232a\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18cff}\u{1aff0}-\u{1b2ff}\u{1f200}-\u{1f265}\u{20000}-\u{3fffd}]/u;
const EMOJI = /^\p{Emoji_Presentation}|\ufe0f/u;
const INVISIBLE = /^[\p{Mn}\p{Me}\p{Cf}]+$/u;

/** How many columns a terminal uses for neutralised text. */
export function displayWidth(text: string): number {
  if (SIMPLE.test(text)) return text.length;
  let width = 0;
  for (const segment of graphemes(text)) width += graphemeWidth(segment);
  return width;
}

function graphemeWidth(grapheme: string): number {
  if (grapheme.length === 1 && grapheme < "\u0300") return 1;
  if (INVISIBLE.test(grapheme)) return 0;
  return EMOJI.test(grapheme) || WIDE.test(grapheme) ? 2 : 1;
}

const ELLIPSIS = "…";

/** At most `width` columns; an ellipsis marks a cut. Takes neutralised text. */
export function truncate(text: string, width: number): string {
  if (text.length <= width && PLAIN.test(text)) return text;
  if (displayWidth(text) <= width) return text;
  if (width <= 0) return "";
  let kept = "";
  let left = width - 1;
  for (const segment of graphemes(text)) {
    left -= graphemeWidth(segment);
    if (left < 0) break;
    kept += segment;
  }
  return kept + ELLIPSIS;
}

/** Lines of at most `width` columns, broken between words; the first may have less room. A word that is longer stands alone. */
export function wrapWords(text: string, width: number, first = width): string[] {
  const lines = [""];
  let room = first;
  for (const word of neutralize(text).split(" ")) {
    const last = lines.at(-1) as string;
    const size = displayWidth(word);
    if (last !== "" && size + 1 > room) {
      lines.push(word);
      room = width - size;
    } else {
      lines[lines.length - 1] = last === "" ? word : `${last} ${word}`;
      room -= last === "" ? size : size + 1;
    }
  }
  return lines;
}

/** Our own signs and their replacements where the terminal does not use UTF-8: of the same width, so that nothing moves. */
const ASCII: Readonly<Record<string, string>> = {
  "✔": "+",
  "✖": "x",
  "●": "*",
  "○": "o",
  "◌": ".",
  "↻": "~",
  "‖": "=",
  "⊘": "-",
  "·": "-",
  "…": "~",
  "—": "-",
  "×": "x",
  "→": ">",
  "←": "<",
  "█": "#",
  "▒": "%",
  "░": ".",
  "━": "=",
  "╍": ">",
  "╳": "x",
  "╌": ":",
  "─": "-",
  "│": "|",
  "╵": "'",
  "┴": "+",
};

/**
 * The text in ASCII, with the same width. In a terminal of another encoding the bytes of an accented letter may be control characters,
 * so a character without a replacement becomes a question mark.
 */
export function toAscii(text: string): string {
  if (PLAIN.test(text)) return text;
  let ascii = "";
  for (const segment of graphemes(text)) {
    ascii += PLAIN.test(segment) ? segment : (ASCII[segment] ?? "?".repeat(graphemeWidth(segment)));
  }
  return ascii;
}
