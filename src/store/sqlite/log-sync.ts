/**
 * Where commits need not be on the disk before they are answered, brings them there within a second, several at once and beside everything
 * else. SQLite's log is all that has to be synced: a commit stands there whole, after everything before it, and what the log is written over
 * with comes only when SQLite has synced what stood there to the database. That a new log has a name in its folder, SQLite sees to itself,
 * with the first commit. Nothing is synced while nothing is written.
 */
import { type Instant, later, millis, seconds } from "../../domain/time.ts";
import type { Clock, Timer } from "../../effects/clock.ts";
import type { Files, OpenFile } from "./platform.ts";

/** Of what was answered, a power cut takes about so much with it. Counted from the first commit that is not on the disk. */
export const SYNC_WITHIN = seconds(1);
/** A disk that takes so long is waited for: or what was answered would get further and further ahead of it. */
const LATE_AFTER = millis(2 * SYNC_WITHIN);

export interface LogSyncDeps {
  readonly files: Pick<Files, "open">;
  readonly database: string;
  readonly clock: Pick<Clock, "now" | "at">;
  /** The disk did not take it, so that nothing more may be promised. It is not asked again: a second try may succeed although the first one has lost it. */
  readonly failed: (error: Error) => void;
}

/** A sync that has begun, and how old the first commit is that it is for. */
interface UnderWay {
  readonly since: Instant;
  readonly ended: Promise<void>;
}

export class LogSync implements AsyncDisposable {
  readonly #deps: LogSyncDeps;
  /** Its own, and open before anything is written, so that whatever goes wrong with that is told here. SQLite never locks the log. */
  #log: OpenFile | undefined;
  /** When the first commit was written for which no sync has begun. */
  #since: Instant | undefined;
  #timer: Timer | undefined;
  #underWay: UnderWay | undefined;
  #hasFailed = false;

  /** SQLite has the database open, so that there is a log, and it stays the same file. */
  constructor(deps: LogSyncDeps) {
    this.#deps = deps;
    this.#log = deps.files.open(`${deps.database}-wal`);
  }

  /** To be called after every commit, whoever made it. */
  wrote(): void {
    this.#since ??= this.#deps.clock.now();
    this.#plan();
  }

  /** Kept once little enough is not on the disk that somebody may be told of more, or when it never will be. */
  async caughtUp(): Promise<void> {
    while (this.#underWay !== undefined && this.#isLate(this.#underWay)) await this.#underWay.ended;
  }

  /** Everything that was written is on the disk then, or it has failed. */
  async [Symbol.asyncDispose](): Promise<void> {
    while (!this.#hasFailed && (this.#underWay ?? this.#since) !== undefined) {
      if (this.#underWay === undefined) this.#begin();
      await this.#underWay?.ended;
    }
    this.#log?.close();
    this.#log = undefined;
  }

  #isLate({ since }: UnderWay): boolean {
    return this.#deps.clock.now() > later(since, LATE_AFTER);
  }

  /** Alarms do not ring while one commit follows the other and nothing else gets its turn; so each commit looks at the time, too. */
  #plan(): void {
    const { clock } = this.#deps;
    if (this.#since === undefined || this.#underWay !== undefined || this.#hasFailed) return;
    const due = later(this.#since, SYNC_WITHIN);
    if (clock.now() >= due) this.#begin();
    else this.#timer ??= clock.at(due, () => this.#begin());
  }

  /** What is written from now on may be missed by it, and is for the next. */
  #begin(): void {
    const since = this.#since as Instant;
    this.#timer?.cancel();
    [this.#timer, this.#since] = [undefined, undefined];
    this.#underWay = { since, ended: this.#sync() };
  }

  async #sync(): Promise<void> {
    try {
      await this.#log?.sync();
    } catch (error) {
      this.#hasFailed = true;
      this.#deps.failed(error as Error);
    } finally {
      this.#underWay = undefined;
      this.#plan();
    }
  }
}
