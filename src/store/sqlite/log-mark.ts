/**
 * How much of the write-ahead log is known to be on the disk, where commits are answered before they are there: a line in a file beside it,
 * for as long as such an owner has the store. After a power cut the tail of such a log may have come to the disk in any order, and looks
 * damaged; so does a log that was damaged. The mark tells them apart: where the machine was not started anew, or the damaged page had been
 * synced, no power cut has done it.
 */
import type { Files, OpenFile, Platform } from "./platform.ts";
import { sumOf } from "./sums.ts";

/** A place in the log. The salts name the log: it is written over from its beginning, and has others then. */
export interface Position {
  readonly salts: string;
  /** How many pages come before it. */
  readonly pages: number;
}

/** In no log that there is. */
export const NOWHERE: Position = { salts: "none", pages: 0 };

/** Of a log that may lack what was answered last. */
export interface Mark extends Position {
  /** The start of the machine in which it was written. */
  readonly boot: string;
}

/** Of one length, so that it can be written over. */
const LENGTH = 160;
const LINE = /^rota-log (\S+) (\S+) (\d+) (-?\d+) *\n$/;

const markOf = (database: string): string => `${database}-synced`;

/** Nothing where every commit was on the disk before it was answered. One that cannot be read says that this was not so, and no more. */
export function readMark(files: Pick<Files, "read">, database: string): Mark | undefined {
  let text: string;
  try {
    text = files.read(markOf(database)).toString("latin1");
  } catch {
    return undefined;
  }
  const [, boot = "", salts = "", pages = "0", sum] = LINE.exec(text) ?? [];
  const isWhole = Number(sum) === sumOf("log", boot, salts, Number(pages));
  return isWhole ? { boot, salts, pages: Number(pages) } : { boot: "", ...NOWHERE };
}

/** Where the owner syncs every commit before it is answered, no part of the log is in doubt. */
export const forgetMark = (files: Pick<Files, "remove">, database: string): void => files.remove(markOf(database));

/** In one word. */
const bootOf = (boot: Platform["boot"]): string => boot().replaceAll(/\s/g, "_");

/** Whether the machine was started anew since the mark was made. */
export const isOfEarlierBoot = (mark: Mark, { boot }: Pick<Platform, "boot">): boolean => mark.boot !== bootOf(boot);

export class LogMark implements Disposable {
  readonly #files: Files;
  readonly #database: string;
  readonly #boot: string;
  #file: OpenFile | undefined;

  constructor({ files, boot }: Pick<Platform, "files" | "boot">, database: string) {
    this.#files = files;
    this.#database = database;
    this.#boot = bootOf(boot);
  }

  /** From now on commits are answered before they are on the disk; everything up to here is there. The mark is, too, when this returns. */
  begin(position: Position): void {
    const path = markOf(this.#database);
    this.#files.save(path, this.#lineOf(position));
    this.#file = this.#files.open(path);
  }

  /** Everything up to here is on the disk now. That the mark itself may come there later does no harm: the one before is right as well. */
  advance(position: Position): void {
    this.#file?.write(this.#lineOf(position), 0);
  }

  /** Every commit so far, and from now on, is on the disk before it is answered. */
  end(): void {
    this[Symbol.dispose]();
    forgetMark(this.#files, this.#database);
  }

  [Symbol.dispose](): void {
    this.#file?.close();
    this.#file = undefined;
  }

  #lineOf({ salts, pages }: Position): Buffer {
    const line = `rota-log ${this.#boot} ${salts} ${pages} ${sumOf("log", this.#boot, salts, pages)}`;
    return Buffer.from(`${line.padEnd(LENGTH - 1)}\n`, "latin1");
  }
}
