/** Whether anything is given out: not after a pause, and not while something must be over first. */
export class Gate {
  readonly #changed: () => void;
  #isShut = false;
  #holding = 0;

  /** What could go, or cannot, is to be looked at again after each change. */
  constructor(changed: () => void) {
    this.#changed = changed;
  }

  get isOpen(): boolean {
    return !this.#isShut && this.#holding === 0;
  }

  /** Whether nothing will be given out any more, either. */
  get isShut(): boolean {
    return this.#isShut;
  }

  /** For good. */
  shut(): void {
    this.#isShut = true;
    this.#changed();
  }

  /** Until this is done. */
  async hold<T>(what: () => Promise<T>): Promise<T> {
    this.#holding++;
    try {
      return await what();
    } finally {
      this.#holding--;
      this.#changed();
    }
  }
}
