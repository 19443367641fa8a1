/**
 * Where commits need not be on the disk before they are answered, brings them there within a second, several at once and beside everything
 * else. SQLite's log is all that has to be synced: a commit stands there whole, after everything before it, and what the log is written over
 * with comes only when SQLite has synced what stood there to the database. That a new log has a name in its folder, SQLite sees to itself,
 * with the first commit. Nothing is synced while nothing is written.
 */
import { type Instant, later, millis, seconds } from "../../domain/time.ts";
import type { Clock, Timer } from "../../effects/clock.ts";
import { relax, stiffen } from "./connect.ts";
import { SALT_BYTES, SALTS_AT, saltsIn } from "./log-check.ts";
import { LogMark, NOWHERE, type Position } from "./log-mark.ts";
import type { Database, OpenFile, Platform, Statement } from "./platform.ts";

/** Of what was answered, a power cut takes about so much with it. Counted from the first commit that is not on the disk. */
export const SYNC_WITHIN = seconds(1);
/** A disk that takes so long is waited for: or what was answered would get further and further ahead of it. */
const LATE_AFTER = millis(2 * SYNC_WITHIN);

export interface LogSyncDeps {
  readonly db: Database;
  readonly platform: Platform;
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
  readonly #mark: LogMark;
  readonly #end: Statement;

  /** SQLite has the database open, so that there is a log, and it stays the same file. */
  constructor(deps: LogSyncDeps) {
    this.#deps = deps;
    this.#mark = new LogMark(deps.platform, deps.database);
    this.#end = deps.db.prepare("pragma wal_checkpoint(noop)");
    this.#log = deps.platform.files.open(`${deps.database}-wal`);
  }

  /** Until then every commit is on the disk before it is answered. For the owner of the store alone. */
  begin(): void {
    const { db } = this.#deps;
    this.#mark.begin(this.#position() ?? NOWHERE);
    relax(db);
  }

  /** To be called before the last commit of the owner: with it, all those before it are on the disk. */
  end(): void {
    stiffen(this.#deps.db);
  }

  /** The last commit of the owner is on the disk. */
  ended(): void {
    this.#mark.end();
  }

  /** To be called after every commit, by this thread or another. */
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
    this.#mark[Symbol.dispose]();
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

  /** Where it ends now. Nothing when it began anew in the very moment in which it was asked. */
  #position(): Position | undefined {
    const salts = this.#salts();
    const { log: pages } = this.#end.get() as { readonly log: number };
    return salts === this.#salts() ? { salts, pages } : undefined;
  }

  #salts(): string {
    return saltsIn(this.#log?.read(SALT_BYTES, SALTS_AT) ?? new Uint8Array());
  }

  async #sync(): Promise<void> {
    try {
      const position = this.#position();
      await this.#log?.sync();
      if (position !== undefined) this.#mark.advance(position);
    } catch (error) {
      this.#hasFailed = true;
      this.#deps.failed(error as Error);
    } finally {
      this.#underWay = undefined;
      this.#plan();
    }
  }
}
