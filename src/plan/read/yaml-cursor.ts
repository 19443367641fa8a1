/** A place in YAML text, line by line: what the readers of blocks and brackets share. */

export const LINE_FEED = 0x0a;
export const SPACE = 0x20;
const HASH = 0x23;
const DASH = 0x2d;

export class YamlCursor {
  readonly text: string;
  at = 0;
  /** The column of the next character; -1 after the last line. */
  indent = 0;
  lineStart = 0;
  depth = 0;
  /** The keys as they are written, for maps with numbers among the keys: as keys of an object these would lose their place. */
  readonly orders = new Map<object, string[]>();

  constructor(text: string) {
    this.text = text;
  }

  /** The character that comes next, as its code. */
  peek(): number {
    return this.text.charCodeAt(this.at);
  }

  skipSpaces(): void {
    while (this.text.charCodeAt(this.at) === SPACE) this.at++;
  }

  isAtEnd(): boolean {
    return this.indent === -1;
  }

  isDash(): boolean {
    if (this.peek() !== DASH) return false;
    const next = this.text.charCodeAt(this.at + 1);
    return next === SPACE || next === LINE_FEED || this.at + 1 === this.text.length;
  }

  isLineEnd(): boolean {
    const code = this.peek();
    if (code === HASH) return this.text.charCodeAt(this.at - 1) === SPACE;
    return code === LINE_FEED || this.at >= this.text.length;
  }

  /** Leaves a line that holds nothing more than a comment, and goes to the next line with content. */
  endLine(): boolean {
    this.skipSpaces();
    if (!this.isLineEnd()) return false;
    this.#skipLine();
    this.nextLine();
    return true;
  }

  /** From the start of a line to the next that is neither blank nor a comment. */
  nextLine(): void {
    for (;;) {
      this.lineStart = this.at;
      this.skipSpaces();
      if (this.at >= this.text.length) {
        this.indent = -1;
        return;
      }
      const code = this.peek();
      if (code !== LINE_FEED && code !== HASH) {
        this.indent = this.at - this.lineStart;
        return;
      }
      this.#skipLine();
    }
  }

  /** Notes the place of the key among the others, when an object would lose it because keys are numbers. */
  noteOrder(map: object, key: string): void {
    const first = key.charCodeAt(0);
    const order = this.orders.get(map);
    if (order !== undefined) order.push(key);
    else if (first >= 0x30 && first <= 0x39) this.orders.set(map, [...Object.keys(map), key]);
  }

  #skipLine(): void {
    const end = this.text.indexOf("\n", this.at);
    this.at = end === -1 ? this.text.length : end + 1;
  }
}
