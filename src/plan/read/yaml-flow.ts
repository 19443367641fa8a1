/** Lists and maps in brackets, on one line, as the fast YAML reader reads them. */
import type { Place } from "./places.ts";
import { LINE_FEED, SPACE, type YamlCursor } from "./yaml-cursor.ts";
import { flowPlainEnd, isSureKey, quoted, resolvePlain, UNSURE, type Unsure } from "./yaml-scalars.ts";

export const DEPTH_MAX = 50;
/** A key without quotes that needs no second look. */
const FLOW_KEY = /[A-Za-z0-9_][A-Za-z0-9_./-]*: +/y;
/** YAML allows 1024 characters for a key on one line. */
export const KEY_LENGTH_MAX = 1000;

const QUOTE = 0x22;
const APOSTROPHE = 0x27;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_MAP = 0x7b;
const CLOSE_MAP = 0x7d;

export type YamlMap = Record<string, unknown>;

export const isQuote = (code: number): boolean => code === QUOTE || code === APOSTROPHE;
export const isBracket = (code: number): boolean => code === OPEN_LIST || code === OPEN_MAP;

/** Reads a list or map in brackets; stops behind the closing one. */
export function readFlow(cursor: YamlCursor, place: Place | undefined): unknown {
  if (++cursor.depth > DEPTH_MAX) return UNSURE;
  const isList = cursor.peek() === OPEN_LIST;
  cursor.at++;
  cursor.skipSpaces();
  const value = isList ? flowList(cursor, place) : flowMap(cursor, place);
  cursor.depth--;
  return value;
}

function flowList(cursor: YamlCursor, place: Place | undefined): unknown[] | Unsure {
  const list: unknown[] = [];
  if (take(cursor, CLOSE_LIST)) return list;
  for (;;) {
    const value = flowValue(cursor, place?.child(list.length), cursor.at);
    if (value === UNSURE) return UNSURE;
    list.push(value);
    if (take(cursor, CLOSE_LIST)) return list;
    if (!take(cursor, COMMA)) return UNSURE;
    cursor.skipSpaces();
  }
}

function flowMap(cursor: YamlCursor, place: Place | undefined): YamlMap | Unsure {
  const map: YamlMap = {};
  if (take(cursor, CLOSE_MAP)) return map;
  for (;;) {
    const keyAt = cursor.at;
    const key = flowKey(cursor);
    if (key === UNSURE || !isSureKey(key) || Object.hasOwn(map, key)) return UNSURE;
    cursor.noteOrder(map, key);
    const value = flowValue(cursor, place?.child(key), keyAt);
    if (value === UNSURE) return UNSURE;
    map[key] = value;
    if (take(cursor, CLOSE_MAP)) return map;
    if (!take(cursor, COMMA)) return UNSURE;
    cursor.skipSpaces();
  }
}

function flowKey(cursor: YamlCursor): string | Unsure {
  const start = cursor.at;
  if (isQuote(cursor.peek())) {
    const key = readQuotedKey(cursor);
    cursor.skipSpaces();
    return key;
  }
  FLOW_KEY.lastIndex = start;
  if (!FLOW_KEY.test(cursor.text)) return UNSURE;
  cursor.at = FLOW_KEY.lastIndex;
  return cursor.at - start > KEY_LENGTH_MAX ? UNSURE : cursor.text.slice(start, cursor.text.indexOf(":", start));
}

function flowValue(cursor: YamlCursor, place: Place | undefined, keyAt: number): unknown {
  place?.found(keyAt, cursor.at);
  const code = cursor.peek();
  let value: unknown;
  if (isBracket(code)) value = readFlow(cursor, place);
  else if (isQuote(code)) value = readQuoted(cursor);
  else value = readPlain(cursor, flowPlainEnd(cursor.text, cursor.at));
  cursor.skipSpaces();
  return value;
}

function take(cursor: YamlCursor, code: number): boolean {
  if (cursor.peek() !== code) return false;
  cursor.at++;
  return true;
}

/** Reads text in quotes; stops behind the closing one. */
export function readQuoted(cursor: YamlCursor): string | Unsure {
  const found = quoted(cursor.text, cursor.at);
  if (found === undefined) return UNSURE;
  cursor.at = found.end;
  return found.value;
}

/** Reads a key in quotes; stops behind the colon. */
export function readQuotedKey(cursor: YamlCursor): string | Unsure {
  const start = cursor.at;
  const key = readQuoted(cursor);
  if (key === UNSURE || cursor.at - start > KEY_LENGTH_MAX || !take(cursor, COLON)) return UNSURE;
  const next = cursor.peek();
  return next === SPACE || next === LINE_FEED ? key : UNSURE;
}

/** Reads text without quotes up to `end`. */
export function readPlain(cursor: YamlCursor, end: number | undefined): unknown {
  if (end === undefined) return UNSURE;
  const text = cursor.text.slice(cursor.at, end);
  cursor.at = end;
  return resolvePlain(text);
}
