/**
 * How much of the write-ahead log is known to be on the disk, where commits are answered before they are there: a line in a file beside the
 * log, for as long as such an owner has the store. After a power cut the tail of such a log may have reached the disk in any order, and looks
 * damaged; so does a log that was damaged. The mark tells them apart: if the machine was not rebooted, or the damaged page had been synced,
 * no power cut has done it.
 */
import type { Files, OpenFile, Platform } from "../platform.ts";
import { sumOf } from "../sums/sums.ts";

/** A place in the log. The salts name the log: when SQLite starts it again from its beginning, it gets others. */
export interface Position {
  readonly salts: string;
  /** How many pages come before it. */
  readonly pages: number;
}

/** A position that is in no log. */
export const NOWHERE: Position = { salts: "none", pages: 0 };

/** The mark of a log that may lack the last answered commits. */
export interface Mark extends Position {
  /** The boot of the machine in which it was written. */
  readonly boot: string;
}

/** Of fixed length, so that it can be overwritten in place. */
const LENGTH = 160;
const LINE = /^rota-log (\S+) (\S+) (\d+) (-?\d+) *\n$/;

const markOf = (database: string): string => `${database}-synced`;

/** Nothing where every commit was on the disk before it was answered. A mark that cannot be read only says that this was not so. */
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

/** As one word. */
const bootOf = (boot: Platform["boot"]): string => boot().replaceAll(/\s/g, "_");

/** Whether the machine was rebooted since the mark was made. */
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

  /** From now on commits are answered before they are on the disk; everything up to here is there. So is the mark, when this returns. */
  begin(position: Position): void {
    const path = markOf(this.#database);
    this.#files.save(path, this.#lineOf(position));
    this.#file = this.#files.open(path);
  }

  /** Everything up to here is on the disk now. The mark itself may reach the disk later: the mark before it is right as well. */
  advance(position: Position): void {
    this.#file?.write(this.#lineOf(position), 0);
  }

  /** Every commit so far is on the disk, and from now on each one is before it is answered. */
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
