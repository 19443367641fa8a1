/** Turns what SQLite throws into an error that tells a person what to do. */
import { UserError } from "../../domain/errors.ts";

export type Otherwise = "STATE_UNUSABLE" | "STORE_FAILED";

const SQLITE_IOERR = 10;
const SQLITE_CORRUPT = 11;
const SQLITE_NOTADB = 26;

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
    return new UserError(otherwise, `${file}: ${error.message}`, { cause: error });
  }
  const isOfSystem = "code" in error && "syscall" in error;
  return isOfSystem ? new UserError(otherwise, `${file}: ${error.message}`, { cause: error }) : error;
}

const corrupt = (file: string, error: Error): UserError =>
  new UserError("STORE_CORRUPT", `${file}: ${error.message}`, { cause: error });

const named = (file: string, error: UserError): UserError =>
  error.message.startsWith(file) ? error : corrupt(file, error);

/** The disk has failed: its content is not known, so nothing more may be promised on it. */
export const isOfDisk = (error: unknown): boolean =>
  error instanceof Error && "errcode" in error && [SQLITE_IOERR, SQLITE_CORRUPT].includes(primaryCode(error));

const primaryCode = (error: Error): number => Number((error as Error & { errcode: unknown }).errcode) & 0xff;
