/**
 * Where commits are answered before they are on the disk, brings them there within a second, several at once and beside other work. Only
 * SQLite's log has to be synced: a commit stands there whole, after everything before it, and SQLite overwrites the log only when it has synced
 * what stood there to the database. SQLite itself syncs the folder entry of a new log, with the first commit. Nothing is synced while nothing
 * is written.
 */
import { type Instant, later, millis, seconds } from "../../../domain/time.ts";
import type { Clock, Timer } from "../../../effects/clock.ts";
import { relax, stiffen } from "../connect.ts";
import type { Database, OpenFile, Platform, Statement } from "../platform.ts";
import { SALT_BYTES, SALTS_AT, saltsIn } from "./check.ts";
import { LogMark, NOWHERE, type Position } from "./mark.ts";

/** A power cut loses at most about this much of what was answered, counted from the first commit that is not on the disk. */
export const SYNC_WITHIN = seconds(1);
/** Commits wait for a disk that takes longer than this: otherwise the answers would get further and further ahead of the disk. */
const LATE_AFTER = millis(2 * SYNC_WITHIN);

export interface LogSyncDeps {
  readonly db: Database;
  readonly platform: Platform;
  readonly database: string;
  readonly clock: Pick<Clock, "now" | "at">;
  /** The disk has failed, so nothing more may be promised. It is not tried again: a second try may succeed although the first one has lost data. */
  readonly failed: (error: Error) => void;
}

/** A sync that has begun, and since when its oldest commit waits. */
interface UnderWay {
  readonly since: Instant;
  readonly ended: Promise<void>;
}

export class LogSync implements AsyncDisposable {
  readonly #deps: LogSyncDeps;
  /** A handle of its own, opened before anything is written, so that an error is reported here. SQLite never locks the log. */
  #log: OpenFile | undefined;
  /** When the first commit was written that no sync covers yet. */
  #since: Instant | undefined;
  #timer: Timer | undefined;
  #underWay: UnderWay | undefined;
  #hasFailed = false;
  readonly #mark: LogMark;
  readonly #end: Statement;

  /** To be made when SQLite has the database open: then there is a log, and it stays the same file. */
  constructor(deps: LogSyncDeps) {
    this.#deps = deps;
    this.#mark = new LogMark(deps.platform, deps.database);
    this.#end = deps.db.prepare("pragma wal_checkpoint(noop)");
    this.#log = deps.platform.files.open(`${deps.database}-wal`);
  }

  /** Until then every commit is on the disk before it is answered. Only for the owner of the store. */
  begin(): void {
    const { db } = this.#deps;
    this.#mark.begin(this.#position() ?? NOWHERE);
    relax(db);
  }

  /** To be called before the last commit of the owner: that commit brings all those before it to the disk. */
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

  /** Resolves when little enough is off the disk that the next commit may be answered, or when the disk has failed. */
  async caughtUp(): Promise<void> {
    while (this.#underWay !== undefined && this.#isLate(this.#underWay)) await this.#underWay.ended;
  }

  /** When it resolves, everything that was written is on the disk, or the disk has failed. */
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

  /** Timers do not fire while one commit follows the other without a pause; so each commit looks at the time, too. */
  #plan(): void {
    const { clock } = this.#deps;
    if (this.#since === undefined || this.#underWay !== undefined || this.#hasFailed) return;
    const due = later(this.#since, SYNC_WITHIN);
    if (clock.now() >= due) this.#begin();
    else this.#timer ??= clock.at(due, () => this.#begin());
  }

  /** Commits that are written from now on may be missed by this sync, and belong to the next. */
  #begin(): void {
    const since = this.#since as Instant;
    this.#timer?.cancel();
    [this.#timer, this.#since] = [undefined, undefined];
    this.#underWay = { since, ended: this.#sync() };
  }

  /** Where the log ends now. Nothing when the log was restarted at this very moment. */
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
