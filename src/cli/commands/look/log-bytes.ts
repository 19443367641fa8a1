/** Parts of a log file, read in pieces of a fixed size, so that a log of any length takes no more memory than a short one. */
import type { FileHandle } from "node:fs/promises";
import { StringDecoder } from "node:string_decoder";
import { lastShown } from "../../../views/text/text.ts";

const PIECE = 64 * 1024;
const NEWLINE = 0x0a;

/** Where the last `lines` lines begin. An incomplete last line counts. */
export async function tailStart(log: FileHandle, lines: number): Promise<number> {
  const { size } = await log.stat();
  if (lines === 0) return size;
  const piece = Buffer.alloc(PIECE);
  let left = lines;
  for (let end = size; end > 0; ) {
    const start = Math.max(0, end - PIECE);
    const { bytesRead } = await log.read(piece, 0, end - start, start);
    for (let at = bytesRead - 1; at >= 0; at--) {
      // The newline that ends the last line does not begin another one.
      if (piece[at] === NEWLINE && start + at !== size - 1 && --left === 0) return start + at + 1;
    }
    end = start;
  }
  return 0;
}

/** Gives everything from `from` to the present end to `take`, piece by piece, and returns the offset of that end. */
export async function readOn(
  log: FileHandle,
  from: number,
  take: (bytes: Uint8Array) => Promise<void>,
): Promise<number> {
  const { size } = await log.stat();
  // The log exceeded its limit and was cut: the part before the cut was shown already.
  let at = Math.min(from, size);
  for (;;) {
    // A fresh buffer each time: the last one may still be on its way to a slow reader.
    const piece = Buffer.allocUnsafe(PIECE);
    const { bytesRead } = await log.read(piece, 0, PIECE, at);
    if (bytesRead === 0) return at;
    at += bytesRead;
    await take(piece.subarray(0, bytesRead));
  }
}

/** A line longer than this is shown in parts. */
const LINE_MAX = 16 * 1024;

/** From bytes to lines that cannot disturb a terminal: colours dropped, every other control character spelt out. */
export class LineCleaner {
  readonly #decoder = new StringDecoder("utf8");
  #rest = "";

  /** The text that can be shown now. */
  take(bytes: Uint8Array): string {
    this.#rest += this.#decoder.write(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    const lines = this.#rest.split("\n");
    this.#rest = lines.pop() ?? "";
    let shown = lines.map((line) => `${lastShown(line)}\n`).join("");
    while (this.#rest.length > LINE_MAX) shown += this.#shorten();
    return shown;
  }

  /** Of a progress bar, overwritten text is dropped; of any other line the first part is shown. */
  #shorten(): string {
    const state = this.#rest.lastIndexOf("\r");
    const before = this.#rest.lastIndexOf("\r", state - 1);
    if (before > 0) {
      this.#rest = this.#rest.slice(before);
      return "";
    }
    const part = this.#rest.slice(0, LINE_MAX);
    this.#rest = this.#rest.slice(LINE_MAX);
    return lastShown(part);
  }

  /** The rest, when no more bytes will come. */
  end(): string {
    const rest = this.#rest + this.#decoder.end();
    this.#rest = "";
    return rest === "" ? "" : `${lastShown(rest)}\n`;
  }
}
