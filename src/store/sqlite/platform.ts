/** What the store asks of the machine: SQLite, and a few calls on files. A simulation gives others, to see what the store makes of a bad disk. */
import {
  chmodSync,
  closeSync,
  fdatasync,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  writeSync,
} from "node:fs";
import { DatabaseSync, type StatementSync } from "node:sqlite";

export interface Platform {
  /** The database in this file, which is made where it is missing, unless it is only read. */
  open(file: string, options: { readonly readOnly: boolean }): Database;
  readonly files: Files;
}

/** What is used of a connection. What goes wrong is thrown as `node:sqlite` throws it, with an `errcode`. */
export interface Database extends Disposable {
  prepare(sql: string): Statement;
  exec(sql: string): void;
  close(): void;
  readonly isOpen: boolean;
  readonly isTransaction: boolean;
}
export type Statement = Pick<StatementSync, "get" | "all" | "run" | "iterate">;

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
}
export interface OpenFile {
  size(): number;
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
  },
};

function openFile(path: string): OpenFile {
  const descriptor = openSync(path, "r+");
  return {
    size: () => fstatSync(descriptor).size,
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
