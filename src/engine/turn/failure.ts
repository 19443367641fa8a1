/** Tells every waiting caller that nothing more will come: the store can no longer be trusted. */

/**
 * Not one promise that every call races against: it would keep a reference for every race as long as it is not settled, which in
 * a healthy daemon is for ever.
 */
export class Failure {
  readonly #promise = Promise.withResolvers<never>();
  readonly #waiting = new Set<(error: unknown) => void>();
  #happened = false;

  constructor() {
    // Without this, a failure that no caller waits for would end the process.
    this.#promise.promise.catch(() => {});
  }

  /** Rejects, and never resolves. */
  get promise(): Promise<never> {
    return this.#promise.promise;
  }

  happen(error: unknown): void {
    this.#happened = true;
    this.#promise.reject(error);
    for (const refuse of this.#waiting) refuse(error);
    this.#waiting.clear();
  }

  /** The promise, unless everything fails before it is settled. */
  orFail<T>(promise: Promise<T>): Promise<T> {
    return this.promiseOf((keep, refuse) => void promise.then(keep, refuse));
  }

  /** A promise that `begin` settles, unless everything fails before. */
  promiseOf<T>(begin: (keep: (value: T) => void, refuse: (error: Error) => void) => void): Promise<T> {
    if (this.#happened) return this.promise;
    return new Promise<T>((resolve, reject) => {
      this.#waiting.add(reject);
      begin(
        (value) => {
          this.#waiting.delete(reject);
          resolve(value);
        },
        (error) => {
          this.#waiting.delete(reject);
          reject(error);
        },
      );
    });
  }
}
