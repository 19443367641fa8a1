/** What attempts say about themselves, within bounds: how long one saying may be, and how much of them is kept with the attempt. */
import { appendFileSync } from "node:fs";
import { dirname } from "node:path";
import { makeFolders } from "../effects/folders.ts";
import type { Saying } from "./executor.ts";

/** As long as a session's note may be. */
export const SAYING_MAX = 1_000;
/** Sayings kept of one attempt, in bytes. */
const KEPT_MAX = 1024 * 1024;

/** The saying, cut to what one may be. Nothing when it says nothing. */
export function saying(text: string): Saying | undefined {
  const trimmed = text.trim();
  if (trimmed === "") return undefined;
  return {
    kind: "said",
    text: trimmed.length > SAYING_MAX ? `${trimmed.slice(0, SAYING_MAX - 1).toWellFormed()}…` : trimmed,
  };
}

/** The sayings of one attempt that has no output of its own: a line each in its log. */
export class Sayings {
  readonly #log: string;
  #kept = 0;

  constructor(log: string) {
    this.#log = log;
  }

  keep({ text }: Saying): void {
    if (this.#kept > KEPT_MAX) return;
    const line = `${text}\n`;
    if (this.#kept === 0) makeFolders(dirname(this.#log));
    this.#kept += Buffer.byteLength(line);
    const isFull = this.#kept > KEPT_MAX;
    appendFileSync(this.#log, isFull ? "… and more, which was not kept\n" : line, { mode: 0o600 });
  }
}
