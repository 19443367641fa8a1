/** What the store asks of the machine: SQLite, and a few calls on files. A simulation gives others, to see what the store makes of a bad disk. */
import {
  chmodSync,
  closeSync,
  fdatasync,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  realpathSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { bootId } from "../../effects/host.ts";

export interface Platform {
  /** The database in this file, which is made where it is missing, unless it is only read. */
  open(file: string, options: { readonly readOnly: boolean }): Database;
  readonly files: Files;
  /** Names this start of the machine: what was written before it, and not synced, may not be on the disk. */
  boot(): string;
}

/** What is used of a connection. What goes wrong is thrown as `node:sqlite` throws it, with an `errcode`. */
export interface Database extends Disposable {
  prepare(sql: string): Statement;
  exec(sql: string): void;
  close(): void;
  readonly isOpen: boolean;
  readonly isTransaction: boolean;
}
export type Statement = Pick<StatementSync, "get" | "all" | "run" | "iterate" | "setReturnArrays">;

/** What goes wrong is thrown as `node:fs` throws it, with `code` and `syscall`. */
export interface Files {
  /** The file that is meant, whatever it is called here. */
  realpath(path: string): string;
  /** The folder and those it lies in, for its owner alone. */
  makeFolder(path: string): void;
  /** For its owner alone. */
  makePrivate(path: string): void;
  read(path: string): Buffer;
  /** One that is there, to be written over and made longer. */
  open(path: string): OpenFile;
  /** Makes the file or writes it over. It is on the disk, with its name, when this returns. */
  save(path: string, bytes: Uint8Array): void;
  /** Nothing, where there is none. */
  remove(path: string): void;
}
export interface OpenFile {
  size(): number;
  /** So many bytes, or as many as there are. */
  read(count: number, at: number): Buffer;
  write(bytes: Uint8Array, at: number): void;
  /** Kept when everything that was written is on the disk. */
  sync(): Promise<void>;
  close(): void;
}

const OWNER_FOLDER = 0o700;
const OWNER_FILE = 0o600;

export const REAL: Platform = {
  open: (file, { readOnly }) => new DatabaseSync(file, { readOnly, enableForeignKeyConstraints: false }),
  files: {
    realpath: (path) => realpathSync(path),
    makeFolder(path) {
      mkdirSync(path, { recursive: true, mode: OWNER_FOLDER });
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

function syncFolder(path: string): void {
  const folder = openSync(path, "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

function openFile(path: string): OpenFile {
  const descriptor = openSync(path, "r+");
  return {
    size: () => fstatSync(descriptor).size,
    read(count, at) {
      const bytes = Buffer.alloc(count);
      return bytes.subarray(0, readSync(descriptor, bytes, 0, count, at));
    },
    write(bytes, at) {
      writeSync(descriptor, bytes, 0, bytes.length, at);
    },
    /** By a thread of the platform's, so that everything else goes on. */
    sync: () =>
      new Promise((resolve, reject) => {
        fdatasync(descriptor, (error) => (error === null ? resolve() : reject(error)));
      }),
    close: () => closeSync(descriptor),
  };
}
