/** One batch after the other: after one that was not written, no other of the same owner is. */
export class Turns {
  /** Whose batch was not written, and how that ended. */
  #stopped: { readonly epoch: number; readonly how: () => boolean } | undefined;

  /** False, or whatever went wrong, when an earlier one of this owner was not written; else what `write` comes to. */
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
