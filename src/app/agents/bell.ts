/**
 * Tells a scheduler that people have requested something, and that its state directory was removed. It watches the two files, and not the
 * directory, where every commit changes something. Where the system cannot watch, it looks at them now and then.
 */
import { closeSync, type FSWatcher, openSync, statSync, watch } from "node:fs";
import { UserError } from "../../domain/errors.ts";
import { later, type Millis, millis } from "../../domain/time.ts";
import type { Clock, Timer } from "../../effects/clock.ts";
import type { StateDir } from "../config/state.ts";

export interface BellDeps {
  readonly state: Pick<StateDir, "root" | "bell" | "database">;
  readonly clock: Pick<Clock, "now" | "at">;
  /** How often files that cannot be watched are looked at. */
  readonly poll: Millis;
  /** There may be requests. */
  readonly rung: () => void;
  /** The state directory is gone. Called once. */
  readonly gone: (error: UserError) => void;
}

/** A directory is removed file by file: a bell that is missing before the rest is gone would look like a replaced one. */
const SETTLES = millis(100);

export function answerBell({ state, clock, poll, rung, gone }: BellDeps): Disposable {
  const { root, bell, database } = state;
  const placed = identityOf(database);
  let watchers: readonly FSWatcher[] = [];
  let watched: string | undefined;
  let timer: Timer | undefined;
  let isClosed = false;
  const look = (after: Millis): void => {
    if (isClosed) return;
    timer ??= clock.at(later(clock.now(), after), () => {
      timer = undefined;
      if (identityOf(database) !== placed) return stop(removed(root));
      if (identityOf(bell) === watched) return;
      listen();
      rung();
    });
  };
  const listen = (): void => {
    for (const watcher of watchers) watcher.close();
    closeSync(openSync(bell, "a", 0o600));
    const hear = (change: string): void => (change === "rename" ? look(SETTLES) : rung());
    watchers = [watchIn(bell, hear), watchIn(database, () => look(SETTLES))].filter((each) => each !== undefined);
    const isWatched = watchers.length === 2;
    watched = isWatched ? identityOf(bell) : undefined;
    if (!isWatched) look(poll);
  };
  const close = (): void => {
    isClosed = true;
    timer?.cancel();
    for (const watcher of watchers) watcher.close();
  };
  const stop = (error: UserError): void => {
    close();
    gone(error);
  };
  listen();
  return { [Symbol.dispose]: close };
}

/** Nothing where the system has no more watchers to give. */
function watchIn(file: string, hear: (change: "rename" | "change") => void): FSWatcher | undefined {
  try {
    const watcher = watch(file, hear);
    watcher.on("error", () => watcher.close());
    return watcher;
  } catch {
    return undefined;
  }
}

/** Names the file itself, whatever its path. */
function identityOf(file: string): string | undefined {
  const stat = statSync(file, { throwIfNoEntry: false });
  return stat && `${stat.dev}:${stat.ino}`;
}

const removed = (root: string): UserError =>
  new UserError("STATE_UNUSABLE", `${root} was removed or replaced while it was in use`, {
    hint: "What ran was stopped. Put the directory back and go on with --resume, or start anew.",
  });
