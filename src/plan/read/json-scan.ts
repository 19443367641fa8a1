/**
 * Walks over JSON without building anything, for what `JSON.parse` does not tell: where a fault is, which keys are
 * written twice, in what order the tasks stand (numbers as keys lose it), and where a path is. One loop, no recursion.
 */
import { PROBLEMS_MAX, shorten } from "../../std/problems.ts";
import type { Finding } from "../check/diagnostics.ts";
import { Frame } from "./json-frame.ts";
import type { Place } from "./places.ts";
import { DEPTH_MAX, nestedTooDeeply } from "./source.ts";

export interface JsonDuplicate {
  readonly key: string;
  readonly offset: number;
  readonly first: number;
}
export interface JsonScan {
  readonly fault?: Finding;
  readonly duplicates: readonly JsonDuplicate[];
  readonly tasks?: TasksScan;
}
/** What was seen of the map `tasks`. */
export interface TasksScan {
  readonly count: number;
  /** Whether some keys look like numbers, which as keys of an object lose their place. */
  readonly hasNumberKey: boolean;
  /** The keys as they are written, when the scan was a thorough one. */
  readonly keys?: readonly string[];
}

export interface ScanOptions {
  /** Receives the offsets of the paths it asks for. */
  readonly places?: Place;
  /** Compares the keys of `tasks` too, and lists them. */
  readonly isThorough?: boolean;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN_MAP = 0x7b;
const CLOSE_MAP = 0x7d;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4})/y;

/** Scans the whole text. */
export function scanJson(text: string, options: ScanOptions = {}): JsonScan {
  const scanner = new JsonScanner(text, options);
  const fault = scanner.run();
  const { duplicates, tasks } = scanner;
  return { ...(fault !== undefined && { fault }), duplicates, ...(tasks !== undefined && { tasks }) };
}

class JsonScanner {
  readonly duplicates: JsonDuplicate[] = [];
  tasks: TasksScan | undefined;
  readonly #text: string;
  readonly #isThorough: boolean;
  /** One for each depth, reused: otherwise a million small objects would have to be collected. */
  readonly #frames: Frame[] = [];
  #depth = -1;
  #at = 0;
  /** The place that asks for the offset of the next value and of its key. */
  #wanted: Place | undefined;
  #keyAt = 0;
  /** Whether the last text in quotes held an escape. */
  #hasEscape = false;

  constructor(text: string, { places, isThorough = false }: ScanOptions) {
    this.#text = text;
    this.#isThorough = isThorough;
    this.#wanted = places;
  }

  run(): Finding | undefined {
    this.#skipSpace();
    this.#keyAt = this.#at;
    for (;;) {
      this.#wanted?.found(this.#keyAt, this.#at);
      const fault = this.#value();
      if (fault === "opened") continue;
      if (fault !== undefined) return fault;
      const next = this.#afterValue();
      if (next === "end") return undefined;
      if (next !== "value") return next;
    }
  }

  /** Reads a value, or the beginning of a list or map. */
  #value(): Finding | "opened" | undefined {
    const code = this.#text.charCodeAt(this.#at);
    if (code === QUOTE) return this.#string();
    if (code === OPEN_MAP || code === OPEN_LIST) return this.#open(code === OPEN_MAP);
    return this.#literal();
  }

  #open(isMap: boolean): Finding | "opened" | undefined {
    if (this.#depth + 1 >= DEPTH_MAX) return nestedTooDeeply(this.#at);
    const isCounted = !this.#isThorough && this.#depth === 0 && this.#isTasks();
    this.#depth++;
    const frame = this.#frames[this.#depth] ?? new Frame();
    this.#frames[this.#depth] = frame;
    frame.open(isMap, isCounted, this.#wanted);
    this.#at++;
    this.#skipSpace();
    if (this.#text.charCodeAt(this.#at) === (isMap ? CLOSE_MAP : CLOSE_LIST)) {
      this.#close();
      return undefined;
    }
    if (!isMap) {
      this.#item(frame);
      return "opened";
    }
    return this.#key(frame) ?? "opened";
  }

  #close(): void {
    const frame = this.#frames[this.#depth] as Frame;
    this.#depth--;
    this.#at++;
    if (this.#depth !== 0 || !frame.isMap || !this.#isTasks()) return;
    const { count, hasNumberKey } = frame;
    this.tasks = { count, hasNumberKey, ...(this.#isThorough && { keys: frame.keys(this.#text) }) };
  }

  /** Whether the value at depth 1 is that of the key `tasks`. */
  #isTasks(): boolean {
    return (this.#frames[0] as Frame).keyIs(this.#text, "tasks");
  }

  /** What follows a value: the next value of the same list or map, or the end of that, and so on upwards. */
  #afterValue(): Finding | "value" | "end" {
    for (;;) {
      this.#skipSpace();
      if (this.#depth < 0) return this.#at === this.#text.length ? "end" : this.#unexpected("the end");
      const frame = this.#frames[this.#depth] as Frame;
      const code = this.#text.charCodeAt(this.#at);
      if (code === COMMA) {
        this.#at++;
        this.#skipSpace();
        if (frame.isMap) return this.#key(frame) ?? "value";
        this.#item(frame);
        return "value";
      }
      if (code !== (frame.isMap ? CLOSE_MAP : CLOSE_LIST))
        return this.#unexpected(frame.isMap ? "`,` or `}`" : "`,` or `]`");
      this.#close();
    }
  }

  #item(frame: Frame): void {
    frame.count++;
    this.#wanted = frame.place?.child(frame.count - 1);
    this.#keyAt = this.#at;
  }

  #key(frame: Frame): Finding | undefined {
    const start = this.#at;
    if (this.#text.charCodeAt(start) !== QUOTE) return this.#unexpected("a key in double quotes");
    const fault = this.#string();
    if (fault !== undefined) return fault;
    const first = frame.add(this.#text, start, this.#at, this.#hasEscape);
    if (first !== undefined && this.duplicates.length < PROBLEMS_MAX) {
      this.duplicates.push({ key: frame.lastKey(this.#text), offset: start, first });
    }
    this.#wanted = frame.place === undefined ? undefined : frame.place.child(frame.lastKey(this.#text));
    this.#keyAt = start;
    this.#skipSpace();
    if (this.#text.charCodeAt(this.#at) !== COLON) return this.#unexpected("`:`");
    this.#at++;
    this.#skipSpace();
    return undefined;
  }

  #string(): Finding | undefined {
    const text = this.#text;
    this.#hasEscape = false;
    for (let at = this.#at + 1; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) {
        this.#at = at + 1;
        return undefined;
      }
      if (code === BACKSLASH) {
        ESCAPE.lastIndex = at;
        if (!ESCAPE.test(text)) return this.#fault("Not an escape that JSON knows.", at);
        at = ESCAPE.lastIndex - 1;
        this.#hasEscape = true;
      } else if (code < 0x20) return this.#fault("Text in quotes must end on the line it begins on.", at);
    }
    return this.#fault("Text in quotes is not closed.");
  }

  #literal(): Finding | undefined {
    for (const word of ["true", "false", "null"]) {
      if (this.#text.startsWith(word, this.#at)) {
        this.#at += word.length;
        return undefined;
      }
    }
    NUMBER.lastIndex = this.#at;
    if (!NUMBER.test(this.#text)) return this.#unexpected("a value");
    this.#at = NUMBER.lastIndex;
    return undefined;
  }

  #skipSpace(): void {
    const text = this.#text;
    let code = text.charCodeAt(this.#at);
    while (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) code = text.charCodeAt(++this.#at);
  }

  #unexpected(expected: string): Finding {
    const [rest = ""] = this.#text.slice(this.#at, this.#at + 12).split("\n");
    return this.#fault(`Expected ${expected}, not ${rest === "" ? "the end of the file" : `"${shorten(rest)}"`}.`);
  }

  #fault(message: string, offset = this.#at): Finding {
    return { code: "PLAN_SYNTAX", message, spot: { offset } };
  }
}
