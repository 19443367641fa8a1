/** Characters of other people and programs that a person cannot see or a terminal acts on, and how they are shown. */

/**
 * Controls of both sets, half characters, and invisible characters that change the order or meaning of the visible ones: bidirectional
 * marks, line separators, word joiners, fillers, and the tag characters with which a text can be hidden from a person but not
 * from a model. Joiners inside emoji stay.
 */
export const HARMFUL =
  /[\p{Cc}\p{Cs}\u00ad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e0fff}]/gu;

/**
 * Text of several lines in which every character may matter, such as the prompt for an agent: its lines and tabs stay as they are, and what
 * cannot be seen is spelt out.
 */
export const visible = (text: string): string =>
  text.replaceAll("\r\n", "\n").replace(HARMFUL, (char) => (char === "\n" || char === "\t" ? char : spellOut(char)));

const NAMED: Readonly<Record<string, string>> = { "\t": "  ", "\r": "\\r" };

/** The character as text: `\x1b`, `\u202e`. A tab is two spaces. */
export function spellOut(char: string): string {
  const code = char.codePointAt(0) as number;
  if (code > 0xffff) return `\\u{${hex(code, 5)}}`;
  return NAMED[char] ?? (code < 0x100 ? `\\x${hex(code, 2)}` : `\\u${hex(code, 4)}`);
}

const hex = (code: number, digits: number): string => code.toString(16).padStart(digits, "0");
