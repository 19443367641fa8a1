/** What the store uses of the machine: SQLite, and a few calls on files. A simulation gives its own, to see what the store does with a bad disk. */
import {
  chmodSync,
  closeSync,
  fdatasync,
  openSync,
  readFileSync,
  readSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { makeFolders, syncFolder } from "../../effects/folders.ts";
import { bootId } from "../../effects/host.ts";

export interface Platform {
  /** Opens the database in this file, and creates it where it is missing, unless it is only read. */
  open(file: string, options: { readonly readOnly: boolean }): Database;
  readonly files: Files;
  /** Names this boot of the machine: what was written before it, and not synced, may not be on the disk. */
  boot(): string;
}

/** What is used of a connection. Errors are thrown as `node:sqlite` throws them, with an `errcode`. */
export interface Database extends Disposable {
  prepare(sql: string): Statement;
  exec(sql: string): void;
  close(): void;
  readonly isOpen: boolean;
  readonly isTransaction: boolean;
}
export type Statement = Pick<StatementSync, "get" | "all" | "run" | "iterate" | "setReturnArrays">;

/** Errors are thrown as `node:fs` throws them, with `code` and `syscall`. */
export interface Files {
  /** The real path of the file, also behind a link. */
  realpath(path: string): string;
  /** Names the file that is there now, whatever its path; nothing when there is none. */
  identity(path: string): string | undefined;
  /** Makes the folder and its parents, for their owner alone. */
  makeFolder(path: string): void;
  /** Makes the file private to its owner. */
  makePrivate(path: string): void;
  read(path: string): Buffer;
  /** Opens an existing file, to overwrite it and make it longer. */
  open(path: string): OpenFile;
  /** Creates the file or replaces its content. It is on the disk, with its name, when this returns. */
  save(path: string, bytes: Uint8Array): void;
  /** Does nothing where there is no file. */
  remove(path: string): void;
}
export interface OpenFile {
  /** This many bytes, or as many as there are. */
  read(count: number, at: number): Buffer;
  write(bytes: Uint8Array, at: number): void;
  /** Resolves when everything that was written is on the disk. */
  sync(): Promise<void>;
  close(): void;
}

const OWNER_FILE = 0o600;

export const REAL: Platform = {
  open: (file, { readOnly }) => new DatabaseSync(file, { readOnly, enableForeignKeyConstraints: false }),
  files: {
    realpath: (path) => realpathSync(path),
    identity(path) {
      const stat = statSync(path, { throwIfNoEntry: false });
      return stat && `${stat.dev}:${stat.ino}`;
    },
    makeFolder(path) {
      makeFolders(path);
    },
    makePrivate: (path) => chmodSync(path, OWNER_FILE),
    read: (path) => readFileSync(path),
    open: (path) => openFile(path),
    save(path, bytes) {
      writeFileSync(path, bytes, { mode: OWNER_FILE, flush: true });
      syncFolder(dirname(path));
    },
    remove: (path) => rmSync(path, { force: true }),
  },
  boot: bootId,
};

function openFile(path: string): OpenFile {
  const descriptor = openSync(path, "r+");
  return {
    read(count, at) {
      const bytes = Buffer.alloc(count);
      return bytes.subarray(0, readSync(descriptor, bytes, 0, count, at));
    },
    write(bytes, at) {
      writeSync(descriptor, bytes, 0, bytes.length, at);
    },
    /** Done by a thread of the platform, so that everything else goes on. */
    sync: () =>
      new Promise((resolve, reject) => {
        fdatasync(descriptor, (error) => (error === null ? resolve() : reject(error)));
      }),
    close: () => closeSync(descriptor),
  };
}
