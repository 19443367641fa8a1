/** What people say to a running agent: lines that are added to a file of its attempt. */
import { closeSync, openSync, readSync, watch } from "node:fs";
import { dirname } from "node:path";
import { later, seconds } from "../../domain/time.ts";
import type { Clock, Timer } from "../../effects/clock.ts";
import { LineCutter } from "../../std/lines.ts";
import { objectIn, text } from "../json.ts";
import type { InboxLine } from "./order.ts";

const LINE_MAX = 1024 * 1024;
/** A folder can be watched on most systems; where it cannot, looking now and then is enough for people. */
const LOOK = seconds(1);

export class Inbox {
  readonly #file: string;
  readonly #hear: (line: InboxLine) => void;
  readonly #lines = new LineCutter(LINE_MAX);
  readonly #clock: Clock;
  #timer: Timer | undefined;
  readonly #watcher: ReturnType<typeof watch> | undefined;
  #offset = 0;

  constructor(file: string, clock: Clock, hear: (line: InboxLine) => void) {
    this.#file = file;
    this.#clock = clock;
    this.#hear = hear;
    this.#watcher = watched(dirname(file), () => this.#look());
    this.#lookOn();
  }

  close(): void {
    this.#timer?.cancel();
    this.#watcher?.close();
  }

  #lookOn(): void {
    this.#look();
    this.#timer = this.#clock.at(later(this.#clock.now(), LOOK), () => this.#lookOn());
  }

  #look(): void {
    for (const line of this.#lines.push(this.#read())) {
      const heard = "bytes" in line ? lineOf(line.bytes.toString("utf8")) : undefined;
      if (heard !== undefined) this.#hear(heard);
    }
  }

  #read(): Buffer {
    const chunk = Buffer.alloc(LINE_MAX);
    try {
      const file = openSync(this.#file, "r");
      try {
        const length = readSync(file, chunk, 0, chunk.length, this.#offset);
        this.#offset += length;
        return chunk.subarray(0, length);
      } finally {
        closeSync(file);
      }
    } catch {
      return Buffer.alloc(0);
    }
  }
}

function lineOf(words: string): InboxLine | undefined {
  const said = objectIn(words);
  const tell = text(said, "tell");
  if (tell !== undefined) return { tell };
  const [answer, option] = [text(said, "answer"), text(said, "option")];
  return answer === undefined || option === undefined ? undefined : { answer, option };
}

function watched(folder: string, changed: () => void): ReturnType<typeof watch> | undefined {
  try {
    return watch(folder, changed).on("error", () => {});
  } catch {
    return undefined;
  }
}
