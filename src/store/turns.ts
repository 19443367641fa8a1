/** Writes one batch after the other: after a batch that was not written, it writes no other of the same owner. */
export class Turns {
  /** The owner whose batch was not written, and how that ended. */
  #stopped: { readonly epoch: number; readonly how: () => boolean } | undefined;

  /** False, or the error, when an earlier batch of this owner was not written; else the result of `write`. */
  next(epoch: number, write: () => boolean): boolean {
    if (this.#stopped?.epoch === epoch) return this.#stopped.how();
    let how = (): boolean => false;
    try {
      if (write()) return true;
    } catch (error) {
      how = () => {
        throw error;
      };
    }
    this.#stopped = { epoch, how };
    return how();
  }
}
