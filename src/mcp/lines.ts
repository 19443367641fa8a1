/** Lines out of a stream of bytes, none longer than a bound: what a peer sends cannot fill the memory. */

const NEWLINE = 0x0a;

/** A line as text, or the mark of one that was too long and has been passed over. */
export type Line = { readonly text: string } | { readonly tooLong: true };

/** Cuts chunks into lines. Bytes that are no UTF-8 become replacement characters, so that what follows them is still read. */
export class LineCutter {
  readonly #max: number;
  #parts: Buffer[] = [];
  #length = 0;
  #skipping = false;

  constructor(max: number) {
    this.#max = max;
  }

  /** The lines that this chunk ends. */
  push(chunk: Buffer): readonly Line[] {
    const lines: Line[] = [];
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, from)) {
      this.#keep(chunk.subarray(from, at));
      lines.push(this.#take());
      from = at + 1;
    }
    this.#keep(chunk.subarray(from));
    return lines;
  }

  /** What is left when the stream ends without a last line break. */
  end(): readonly Line[] {
    return this.#length > 0 || this.#skipping ? [this.#take()] : [];
  }

  #keep(bytes: Buffer): void {
    if (this.#skipping || bytes.length === 0) return;
    if (this.#length + bytes.length > this.#max) {
      this.#skipping = true;
      this.#parts = [];
      this.#length = 0;
      return;
    }
    // A copy: a stream may fill the same memory again.
    this.#parts.push(Buffer.from(bytes));
    this.#length += bytes.length;
  }

  #take(): Line {
    const line: Line = this.#skipping ? { tooLong: true } : { text: Buffer.concat(this.#parts).toString("utf8") };
    this.#parts = [];
    this.#length = 0;
    this.#skipping = false;
    return line;
  }
}
