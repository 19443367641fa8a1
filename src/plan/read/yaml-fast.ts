/**
 * Reads the plain part of YAML that nearly every plan is written in, many times as fast as a full parser: block maps and
 * lists, lists and maps in brackets on one line, text with and without quotes, `|` blocks, comments. At the first thing it
 * is not sure of it gives up, and the full parser reads the file. A property test holds it to the full parser's answers.
 */
import type { Place } from "./places.ts";
import { LINE_FEED, YamlCursor } from "./yaml-cursor.ts";
import {
  DEPTH_MAX,
  isBracket,
  isQuote,
  KEY_LENGTH_MAX,
  readFlow,
  readPlain,
  readQuoted,
  readQuotedKey,
  type YamlMap,
} from "./yaml-flow.ts";
import { isSureKey, plainEnd, UNSURE, type Unsure } from "./yaml-scalars.ts";

export interface FastYaml {
  readonly value: Readonly<YamlMap>;
  /** The keys as they are written, of maps that have numbers among them. */
  readonly orders: ReadonlyMap<object, readonly string[]>;
}

/** Tabs, carriage returns, control characters, and marks that some readers take for the end of a line. */
const UNUSUAL = /[^\n -~\u00a0-\u2027\u202a-\ufefe\uff00-\ufffd]/;
const KEY = /[A-Za-z0-9_][A-Za-z0-9_./-]*:(?=[ \n]|$)/y;
const BLOCK_HEADER = /\|[-+]?\n/y;
const BAR = 0x7c;

/** The value of the text, or nothing when its meaning is not certain. `places` receives the offsets it asks for. */
export function readFastYaml(text: string, places?: Place): FastYaml | undefined {
  if (UNUSUAL.test(text)) return undefined;
  const cursor = new YamlCursor(text);
  if (text.startsWith("---\n")) cursor.at = 4;
  cursor.nextLine();
  if (cursor.indent !== 0 || cursor.isDash()) return undefined;
  places?.found(cursor.at, cursor.at);
  const value = readMap(cursor, 0, places);
  return value === UNSURE || !cursor.isAtEnd() ? undefined : { value, orders: cursor.orders };
}

function readBlock(cursor: YamlCursor, place: Place | undefined): unknown {
  if (++cursor.depth > DEPTH_MAX) return UNSURE;
  const value = cursor.isDash() ? readList(cursor, cursor.indent, place) : readMap(cursor, cursor.indent, place);
  cursor.depth--;
  return value;
}

function readMap(cursor: YamlCursor, indent: number, place: Place | undefined): YamlMap | Unsure {
  const map: YamlMap = {};
  while (cursor.indent === indent) {
    const keyAt = cursor.at;
    const key = readKey(cursor);
    if (key === UNSURE || !isSureKey(key) || Object.hasOwn(map, key)) return UNSURE;
    cursor.noteOrder(map, key);
    const value = afterKey(cursor, indent, place?.child(key), keyAt);
    if (value === UNSURE) return UNSURE;
    map[key] = value;
  }
  return cursor.indent > indent ? UNSURE : map;
}

/** Reads `key:` and stops behind the colon. */
function readKey(cursor: YamlCursor): string | Unsure {
  if (isQuote(cursor.peek())) return readQuotedKey(cursor);
  const start = cursor.at;
  KEY.lastIndex = start;
  if (!KEY.test(cursor.text)) return UNSURE;
  cursor.at = KEY.lastIndex;
  return cursor.at - start > KEY_LENGTH_MAX ? UNSURE : cursor.text.slice(start, cursor.at - 1);
}

/** The value of a key: on the same line, or as a block below it. A list may stand in the same column as its key. */
function afterKey(cursor: YamlCursor, indent: number, place: Place | undefined, keyAt: number): unknown {
  cursor.skipSpaces();
  if (!cursor.isLineEnd()) {
    place?.found(keyAt, cursor.at);
    return readInline(cursor, indent, place);
  }
  if (!cursor.endLine()) return UNSURE;
  const isBelow = cursor.indent > indent || (cursor.indent === indent && cursor.isDash());
  place?.found(keyAt, isBelow ? cursor.at : keyAt);
  return isBelow ? readBlock(cursor, place) : null;
}

function readList(cursor: YamlCursor, indent: number, place: Place | undefined): unknown[] | Unsure {
  const list: unknown[] = [];
  while (cursor.indent === indent && cursor.isDash()) {
    const value = readItem(cursor, indent, place?.child(list.length));
    if (value === UNSURE) return UNSURE;
    list.push(value);
  }
  return cursor.indent > indent ? UNSURE : list;
}

function readItem(cursor: YamlCursor, indent: number, place: Place | undefined): unknown {
  cursor.at++;
  cursor.skipSpaces();
  if (cursor.isLineEnd()) {
    const emptyAt = cursor.at;
    if (!cursor.endLine()) return UNSURE;
    const isBelow = cursor.indent > indent;
    const at = isBelow ? cursor.at : emptyAt;
    place?.found(at, at);
    return isBelow ? readBlock(cursor, place) : null;
  }
  place?.found(cursor.at, cursor.at);
  KEY.lastIndex = cursor.at;
  if (!cursor.isDash() && !KEY.test(cursor.text)) return readInline(cursor, indent, place);
  // A map or list that begins right behind the dash: its indent is the column it begins in.
  cursor.indent = cursor.at - cursor.lineStart;
  return readBlock(cursor, place);
}

/** A value that begins on this line. Only `|` may continue below: a line that is indented more makes the reader give up. */
function readInline(cursor: YamlCursor, indent: number, place: Place | undefined): unknown {
  const code = cursor.peek();
  if (code === BAR) return readLiteral(cursor, indent);
  let value: unknown;
  if (isBracket(code)) value = readFlow(cursor, place);
  else if (isQuote(code)) value = readQuoted(cursor);
  else value = readPlain(cursor, plainEnd(cursor.text, cursor.at));
  return value === UNSURE || !cursor.endLine() ? UNSURE : value;
}

/** A `|` block: its lines as they are, without the indent of the first. */
function readLiteral(cursor: YamlCursor, indent: number): string | Unsure {
  BLOCK_HEADER.lastIndex = cursor.at;
  if (!BLOCK_HEADER.test(cursor.text)) return UNSURE;
  const chomp = cursor.text.charAt(cursor.at + 1);
  cursor.at = BLOCK_HEADER.lastIndex;
  const lines = literalLines(cursor, indent);
  cursor.nextLine();
  if (lines === undefined || lines.length === 0 || cursor.indent > indent) return UNSURE;
  if (chomp === "+") return `${lines.join("\n")}\n`;
  while (lines.at(-1) === "") lines.pop();
  return chomp === "-" ? lines.join("\n") : `${lines.join("\n")}\n`;
}

/** The lines up to the first that is indented less. Nothing where it is unclear whether blank lines are part of the text. */
function literalLines(cursor: YamlCursor, parent: number): string[] | undefined {
  const { text } = cursor;
  const lines: string[] = [];
  let indent = -1;
  for (;;) {
    const start = cursor.at;
    cursor.skipSpaces();
    const spaces = cursor.at - start;
    const isEnd = cursor.at >= text.length;
    const isBlank = cursor.peek() === LINE_FEED;
    if ((isBlank && (indent === -1 || spaces > indent)) || (isEnd && spaces > 0)) return undefined;
    if (!isBlank && (spaces < indent || spaces <= parent || isEnd)) {
      cursor.at = start;
      return lines;
    }
    if (indent === -1) indent = spaces;
    const end = text.indexOf("\n", cursor.at);
    if (end === -1) return undefined;
    lines.push(isBlank ? "" : text.slice(start + indent, end));
    cursor.at = end + 1;
  }
}
