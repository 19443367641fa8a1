/** Lines out of a stream of bytes, none longer than a bound: what a peer sends cannot fill the memory. */

const NEWLINE = 0x0a;

/** A line without its line break, or the mark of a line that was too long and was skipped. The bytes are valid until the next chunk is pushed. */
export type Line = { readonly bytes: Buffer } | { readonly tooLong: true };

/** Cuts chunks into lines. */
export class LineCutter {
  readonly #max: number;
  #parts: Buffer[] = [];
  #length = 0;
  #skipping = false;

  constructor(max: number) {
    this.#max = max;
  }

  /** Whether a line has begun and not ended. */
  get isOpen(): boolean {
    return this.#length > 0 || this.#skipping;
  }

  /** Whether the line that has not ended is too long already. */
  get isTooLong(): boolean {
    return this.#skipping;
  }

  /** The lines that this chunk ends. */
  push(chunk: Buffer): readonly Line[] {
    const lines: Line[] = [];
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, from)) {
      lines.push(this.#take(chunk.subarray(from, at)));
      from = at + 1;
    }
    this.#keep(chunk.subarray(from));
    return lines;
  }

  /** What is left when the stream ends without a last line break. */
  end(): readonly Line[] {
    return this.isOpen ? [this.#take(Buffer.alloc(0))] : [];
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

  #take(rest: Buffer): Line {
    const tooLong = this.#skipping || this.#length + rest.length > this.#max;
    const line: Line = tooLong
      ? { tooLong }
      : { bytes: this.#length === 0 ? rest : Buffer.concat([...this.#parts, rest]) };
    this.#parts = [];
    this.#length = 0;
    this.#skipping = false;
    return line;
  }
}
