/** Single values of plain YAML on one line: what the fast reader is sure of, and nothing else. */

/** The answer to everything whose meaning is not certain: the full YAML parser is then asked instead. */
export const UNSURE: unique symbol = Symbol("unsure");
export type Unsure = typeof UNSURE;

const LINE_FEED = 0x0a;
const SPACE = 0x20;
const DOUBLE = 0x22;
const HASH = 0x23;
const SINGLE = 0x27;
const COLON = 0x3a;
const BACKSLASH = 0x5c;

/** Everything the core schema reads as a number, in any notation. */
const NUMBER_LIKE =
  /^(?:[-+]?(?:\d+|\.\d+|\d+\.\d*)(?:[eE][-+]?\d+)?|0o[0-7]+|0x[\da-fA-F]+|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/;
/** Numbers in their usual notation that are exact. */
const NUMBER_USUAL = /^(?:0|-?[1-9]\d{0,14}|-?(?:0|[1-9]\d{0,8})\.\d{1,6})$/;
const MINUS_ZERO = /^-0(?:\.0*)?$/;
const INDEX_USUAL = /^(?:0|[1-9]\d{0,14})$/;
const WORDS: ReadonlyMap<string, boolean | null> = new Map([
  ...["null", "Null", "NULL", "~"].map((word) => [word, null] as const),
  ...["true", "True", "TRUE"].map((word) => [word, true] as const),
  ...["false", "False", "FALSE"].map((word) => [word, false] as const),
]);

/** What text without quotes means. */
export function resolvePlain(text: string): string | number | boolean | null | Unsure {
  if (text.length <= 5) {
    const word = WORDS.get(text);
    if (word !== undefined) return word;
  }
  const first = text.charCodeAt(0);
  // Only digits, signs and the dot begin a number; letters are the common case and leave at once.
  if (first > 0x39 || !NUMBER_LIKE.test(text)) return text;
  return NUMBER_USUAL.test(text) && !MINUS_ZERO.test(text) ? Number(text) : UNSURE;
}

/** Keys are text, whatever they look like. But two notations of one number are one key in YAML, so only the usual notation is accepted. */
export const isSureKey = (key: string): boolean =>
  NUMBER_LIKE.test(key) ? INDEX_USUAL.test(key) : !WORDS.has(key) && key !== "__proto__";

/** Where text without quotes ends on this line, from `at`; nothing when that is not certain. */
export function plainEnd(text: string, at: number): number | undefined {
  PLAIN_START.lastIndex = at;
  if (!PLAIN_START.test(text)) return undefined;
  const newline = text.indexOf("\n", at);
  let end = newline === -1 ? text.length : newline;
  for (let next = at; next < end; next++) {
    const code = text.charCodeAt(next);
    if (code === COLON && (next + 1 === end || text.charCodeAt(next + 1) === SPACE)) return undefined;
    if (code === HASH && text.charCodeAt(next - 1) === SPACE) end = next;
  }
  while (text.charCodeAt(end - 1) === SPACE) end--;
  return end;
}
const PLAIN_START = /[A-Za-z0-9_./$~+=(^;<\\\u00a1-\uffff]|-[A-Za-z0-9_./$-]/y;

/** As `plainEnd`, inside brackets, where commas and brackets end it too. Long text is left to the full parser. */
export function flowPlainEnd(text: string, at: number): number | undefined {
  FLOW_PLAIN.lastIndex = at;
  return FLOW_PLAIN.test(text) ? FLOW_PLAIN.lastIndex : undefined;
}
const FLOW_PLAIN =
  /(?:[A-Za-z0-9_./$~+=(^;<]|-[A-Za-z0-9_./$-])(?:[A-Za-z0-9_./$~+=@%^*()<>;!|&'"-]|:(?=[A-Za-z0-9_/])| +(?=[A-Za-z0-9_./$~+=@%^*()<>;|&'"-])){0,4000}/y;

/** Text in quotes that begins at `at`, and where it ends. Only on one line, and only with escapes that JSON knows too. */
export function quoted(text: string, at: number): { readonly value: string; readonly end: number } | undefined {
  return text.charCodeAt(at) === DOUBLE ? doubleQuoted(text, at) : singleQuoted(text, at);
}

/** Loops and not regular expressions: an alternative inside a repetition overflows the stack on megabytes of text. */
function doubleQuoted(text: string, at: number): { readonly value: string; readonly end: number } | undefined {
  let hasEscape = false;
  for (let next = at + 1; next < text.length; next++) {
    const code = text.charCodeAt(next);
    if (code === LINE_FEED) return undefined;
    if (code === DOUBLE) {
      const value = hasEscape ? (JSON.parse(text.slice(at, next + 1)) as string) : text.slice(at + 1, next);
      return { value, end: next + 1 };
    }
    if (code === BACKSLASH) {
      if (!ESCAPED.includes(text.charAt(++next))) return undefined;
      hasEscape = true;
    }
  }
  return undefined;
}
const ESCAPED: readonly string[] = ['"', "\\", "/", "n", "t"];

function singleQuoted(text: string, at: number): { readonly value: string; readonly end: number } | undefined {
  for (let next = at + 1; next < text.length; next++) {
    const code = text.charCodeAt(next);
    if (code === LINE_FEED) return undefined;
    if (code !== SINGLE) continue;
    // Two quotes in a row stand for a quote, and do not end the text.
    if (text.charCodeAt(next + 1) === SINGLE) next++;
    else return { value: text.slice(at + 1, next).replaceAll("''", "'"), end: next + 1 };
  }
  return undefined;
}
