/** Turns what SQLite throws into an error that tells a person what to do. */
import { UserError } from "../../domain/errors.ts";
import { codeOfSystem } from "../../domain/told.ts";

export type Otherwise = "STATE_UNUSABLE" | "STORE_FAILED";

const SQLITE_IOERR = 10;
const SQLITE_CORRUPT = 11;
const SQLITE_FULL = 13;
const SQLITE_CANTOPEN = 14;
const SQLITE_NOTADB = 26;
/** What SQLite was doing when the disk failed, by the second byte of its error code. */
const DOING: Readonly<Record<number, string>> = {
  1: "reading",
  2: "reading",
  3: "writing",
  4: "syncing",
  5: "syncing the folder",
  6: "cutting a file",
  10: "removing a file",
};

export function asUserError(error: unknown, file: string, otherwise: Otherwise = "STATE_UNUSABLE"): unknown {
  // Only our own JSON is ever written, so text that cannot be parsed is damage.
  if (error instanceof SyntaxError) return corrupt(file, error);
  if (error instanceof UserError) return error.code === "STORE_CORRUPT" ? named(file, error) : error;
  if (!(error instanceof Error)) return error;
  // A number that none of our rows can have.
  if ("code" in error && error.code === "ERR_OUT_OF_RANGE") return corrupt(file, error);
  if ("errcode" in error) {
    const primary = primaryCode(error);
    if (primary === SQLITE_CORRUPT || primary === SQLITE_NOTADB) return corrupt(file, error);
    const isOfFile = primary === SQLITE_IOERR || primary === SQLITE_FULL;
    const doing = primary === SQLITE_IOERR ? DOING[Number(error.errcode) >> 8] : undefined;
    const message = doing === undefined ? error.message : `${error.message} while ${doing}`;
    return new UserError(isOfFile ? "STORE_FAILED" : otherwise, `${file}: ${message}`, { cause: error });
  }
  if (!("code" in error && "syscall" in error)) return error;
  return new UserError(codeOfSystem(String(error.code), otherwise), `${file}: ${error.message}`, { cause: error });
}

const corrupt = (file: string, error: Error): UserError =>
  new UserError("STORE_CORRUPT", `${file}: ${error.message}`, { cause: error });

const named = (file: string, error: UserError): UserError =>
  error.message.startsWith(file) ? error : corrupt(file, error);

/** A file of the database could not be opened; the system knows why. */
export const isUnopened = (error: unknown): boolean =>
  error instanceof Error && "errcode" in error && primaryCode(error) === SQLITE_CANTOPEN;

/** The disk has failed: its content is not known, so nothing more may be promised on it. */
export const isOfDisk = (error: unknown): boolean =>
  error instanceof Error && "errcode" in error && [SQLITE_IOERR, SQLITE_CORRUPT].includes(primaryCode(error));

const primaryCode = (error: Error): number => Number((error as Error & { errcode: unknown }).errcode) & 0xff;
