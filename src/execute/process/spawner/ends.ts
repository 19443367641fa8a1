/** Ends that the scheduler may not have made durable yet: kept, and written down as soon as nobody is there to hear them. */
import { appendFileSync, rmSync, writeFileSync } from "node:fs";
import type { Ended } from "../messages.ts";

/** Hearing an end and committing it are two things, and a scheduler can die between them: so the last ones are kept a while. */
const HEARD_KEPT = 1_024;

export class Ends {
  readonly #file: string;
  /** In order of their end. */
  readonly #unheard = new Map<string, Ended>();
  readonly #heard = new Map<string, Ended>();
  #writing = false;

  constructor(file: string) {
    this.#file = file;
  }

  get unheard(): number {
    return this.#unheard.size;
  }

  add(ended: Ended): void {
    this.#unheard.set(ended.key, ended);
    if (this.#writing) attempt(() => appendFileSync(this.#file, line(ended), { mode: 0o600 }));
  }

  heard(key: string): void {
    const ended = this.#unheard.get(key);
    if (ended === undefined) return;
    this.#unheard.delete(key);
    this.#heard.set(key, ended);
    if (this.#heard.size <= HEARD_KEPT) return;
    for (const oldest of this.#heard.keys()) {
      this.#heard.delete(oldest);
      return;
    }
  }

  all(): Ended[] {
    return [...this.#heard.values(), ...this.#unheard.values()];
  }

  /** From now on every end is on disk too. */
  write(): void {
    if (this.#writing) return;
    this.#writing = true;
    const text = this.all().map(line).join("");
    if (text !== "") attempt(() => writeFileSync(this.#file, text, { mode: 0o600 }));
  }

  /** Everything was heard and made durable. */
  forget(): void {
    attempt(() => rmSync(this.#file, { force: true }));
  }
}

const line = (ended: Ended): string => `${JSON.stringify(ended)}\n`;

/** A full disk costs the memory of an end, which then counts as lost; it must not cost the attempts that still run. */
function attempt(write: () => void): void {
  try {
    write();
  } catch (error) {
    process.stderr.write(`${String(error)}\n`);
  }
}
