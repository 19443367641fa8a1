/** Reports when something in a place may have changed. Watches where the system can, and looks again now and then where it cannot. */
import { watch } from "node:fs";
import { later, type Millis, millis } from "../../domain/time.ts";
import { type Clock, systemClock } from "../../effects/clock.ts";
import { POLL_INTERVAL } from "../poll.ts";

export interface WatchOptions {
  readonly signal: AbortSignal;
  /** How long to believe the silence: network disks report no changes. */
  readonly pollEvery?: Millis;
  /** After a caller was busy with a change it is left alone for this many times as long; without it not at all. */
  readonly rest?: number;
  readonly clock?: Clock;
}

/**
 * Yields once at the start, and then whenever one of the files or folders may have changed. Changes while the caller is
 * busy with the last one are reported as one. Ends when the signal is aborted.
 */
export async function* changes(paths: readonly string[], options: WatchOptions): AsyncGenerator<void> {
  const { signal, pollEvery = POLL_INTERVAL, rest = 0, clock = systemClock() } = options;
  let pending = true;
  let isResting = false;
  let wake = (): void => {};
  const ring = (): void => {
    pending = true;
    if (!isResting || signal.aborted) wake();
  };
  const watchers = paths.flatMap((path) => watchQuietly(path, ring));
  signal.addEventListener("abort", ring);
  try {
    while (!signal.aborted) {
      if (!pending) await until((done) => (wake = done), clock, pollEvery);
      pending = false;
      if (signal.aborted) return;
      const began = clock.now();
      yield;
      const tired = millis((clock.now() - began) * rest);
      isResting = true;
      if (tired > 0 && !signal.aborted) await until((done) => (wake = done), clock, tired);
      isResting = false;
    }
  } finally {
    signal.removeEventListener("abort", ring);
    for (const watcher of watchers) watcher.close();
  }
}

async function until(arm: (done: () => void) => void, clock: Clock, span: Millis): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  arm(resolve);
  const timer = clock.at(later(clock.now(), span), resolve);
  await promise;
  timer.cancel();
}

/** A path that cannot be watched is looked at once in every `pollEvery`. */
function watchQuietly(path: string, ring: () => void): { close(): void }[] {
  try {
    const watcher = watch(path, ring);
    watcher.on("error", () => watcher.close());
    return [watcher];
  } catch {
    return [];
  }
}
