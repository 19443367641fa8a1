/**
 * A thread that writes large batches, so that the scheduler decides what comes next, and answers, while the last batch is being
 * written. It has a connection of its own to the same file.
 */

import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import type { Worker } from "node:worker_threads";
import type { UserErrorCode } from "../../domain/errors.ts";
import type { Aside, Durability } from "./connect.ts";
import { type Packed, pack } from "./ledger/packing.ts";
import type { Sheet } from "./writing/sheet.ts";

/** What the thread is given when it starts. */
export interface WriterData {
  readonly file: string;
  readonly durability: Durability;
  readonly foldAfter: number;
}
/** Null: close the file, and end. */
export type ToWriter = PackedSheet | null;
export interface PackedSheet extends Omit<Sheet, "rows" | "durationSamples"> {
  readonly rows: Packed;
  /** As JSON: there may be thousands, and copied one by one they would take four times as long. */
  readonly durationSamples: string;
}
/** How a batch ended. */
type Answer = { readonly written: boolean } | { readonly failed: WriterFailure };
/** Broken: the disk has failed between two batches, so neither thread may write any more. */
export type FromWriter = Answer | { readonly broken: WriterFailure };
export interface WriterFailure {
  /** Absent for a mistake of ours. */
  readonly code?: UserErrorCode;
  readonly message: string;
  /** Whether the disk has failed. */
  readonly ofDisk: boolean;
}

/** The source file when this runs from source, the built file otherwise. */
const PROGRAM = new URL(`./writer-thread${extname(fileURLToPath(import.meta.url))}`, import.meta.url);

type Waiting = (answer: Answer) => void;

/**
 * With fewer rows, sending them to the thread takes longer than writing them. Starting the thread takes as long as thousands of rows: for a
 * run of a few hundred tasks it would never pay.
 */
const ASIDE: Aside = { from: 420, atOnce: 10_000, after: 4 };

export class Writer implements AsyncDisposable {
  readonly #data: WriterData;
  readonly #broke: (failure: WriterFailure) => void;
  readonly #aside: Aside;
  #large = 0;
  readonly #waiting: Waiting[] = [];
  #idle: (() => void)[] = [];
  #thread: Worker | undefined;
  /** Why the thread has ended. */
  #ended: Answer | undefined;

  constructor(data: WriterData, broke: (failure: WriterFailure) => void, aside: Aside = ASIDE) {
    this.#data = data;
    this.#broke = broke;
    this.#aside = aside;
  }

  /** Whether a batch of this many rows goes to the thread. While the thread has not written its last batch yet, every batch does. */
  takes(rows: number): boolean {
    const { from, atOnce, after } = this.#aside;
    if (this.busy) return true;
    if (rows < from) return false;
    this.#large++;
    return this.isThere || rows >= atOnce || this.#large > after;
  }

  /** The thread starts with the first batch. */
  get isThere(): boolean {
    return this.#thread !== undefined;
  }

  get busy(): boolean {
    return this.#waiting.length > 0;
  }

  /** Resolves when every batch is written. */
  async idle(): Promise<void> {
    while (this.busy) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  /** Gives how the batch ended. Batches are written in the order in which they come. */
  write(sheet: Sheet): Promise<Answer> {
    if (this.#ended !== undefined) return Promise.resolve(this.#ended);
    this.#thread ??= this.#start();
    const thread = this.#thread;
    // The process stays alive while a batch is being written, and no longer.
    thread.ref();
    const rows = pack(sheet.rows);
    const packed: PackedSheet = { ...sheet, rows, durationSamples: JSON.stringify(sheet.durationSamples) };
    thread.postMessage(packed satisfies ToWriter, [rows.numbers.buffer]);
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const thread = this.#thread;
    // A thread that has ended sends no further message.
    if (thread === undefined || this.#ended !== undefined) return;
    const gone = new Promise<void>((resolve) => thread.once("exit", () => resolve()));
    thread.ref();
    thread.postMessage(null satisfies ToWriter);
    await gone;
  }

  #start(): Worker {
    // Loaded at the first use: loading takes three milliseconds, and most runs never write that much.
    const { Worker: Thread } = process.getBuiltinModule("node:worker_threads");
    const thread = new Thread(PROGRAM, { workerData: this.#data });
    thread.on("message", (word: FromWriter) => ("broken" in word ? this.#broke(word.broken) : this.#hear(word)));
    thread.on("error", (error: Error) => this.#end(error.message));
    thread.on("exit", () => this.#end("it ended"));
    return thread;
  }

  #hear(answer: Answer): void {
    this.#waiting.shift()?.(answer);
    if (this.busy) return;
    this.#thread?.unref();
    const idle = this.#idle;
    this.#idle = [];
    for (const tell of idle) tell();
  }

  /** The batch that it was writing may be written or not. */
  #end(why: string): void {
    const message = `${this.#data.file}: the thread that writes is gone: ${why}`;
    this.#ended ??= { failed: { code: "STORE_FAILED", message, ofDisk: true } };
    while (this.busy) this.#hear(this.#ended);
  }
}
