/** An agent's output as events: bytes as they come, of any size and cut anywhere, lines of any length, and no valid text for certain. */
import { LineCutter } from "../std/lines.ts";
import type { Reader } from "./driver.ts";
import type { AgentEvent, Stream } from "./vocabulary.ts";

/** A longer line is passed over: its agent may have printed a file. A last record is not so long, since results have a bound of their own. */
export const LINE_MAX = 4 * 1024 * 1024;

/** Follows one stream of one attempt. A later scheduler begins at the start of the file again, and gets the same events. */
export class AgentStream {
  readonly #reader: Reader;
  readonly #stream: Stream;
  readonly #lines = new LineCutter(LINE_MAX);
  /** What is not valid text is shown as such, and is no error. */
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });

  constructor(reader: Reader, stream: Stream) {
    this.#reader = reader;
    this.#stream = stream;
  }

  push(chunk: Buffer): readonly AgentEvent[] {
    return this.#lines.push(chunk).flatMap((line) => this.#read(line));
  }

  /** What a program printed last may have no line end. */
  end(): readonly AgentEvent[] {
    return this.#lines.end().flatMap((line) => this.#read(line));
  }

  #read(line: { readonly bytes: Buffer } | { readonly tooLong: true }): readonly AgentEvent[] {
    if ("tooLong" in line)
      return [{ kind: "note", text: `a line of more than ${LINE_MAX / 1024 / 1024} MB was passed over` }];
    const words = this.#decoder.decode(line.bytes);
    return this.#reader.line(words.endsWith("\r") ? words.slice(0, -1) : words, this.#stream);
  }
}
