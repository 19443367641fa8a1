/** Which of several errors a person is told: an error that the person can put right, with its cause. */
import { UserError, type UserErrorCode } from "./errors.ts";

/**
 * What went wrong on the way out hides what went wrong first, and errors that happened together come as one. Told is the first error
 * that the user can put right, else the first refusal of the system, else the first fault of this program.
 */
export function toldOf(error: unknown): unknown {
  const all = [...unwrapped(error)];
  return userErrorIn(error) ?? all.map(refusedBySystem).find((each) => each !== undefined) ?? all[0];
}

/** The first of them that the user can put right. */
export const userErrorIn = (error: unknown): UserError | undefined =>
  unwrapped(error).find((each) => each instanceof UserError);

/** In the order in which they happened. */
function* unwrapped(error: unknown): Generator<unknown, void> {
  if (error instanceof SuppressedError) {
    yield* unwrapped(error.suppressed);
    yield* unwrapped(error.error);
  } else if (error instanceof AggregateError) {
    for (const each of error.errors) yield* unwrapped(each);
  } else {
    yield error;
    if (error instanceof Error && !(error instanceof UserError) && error.cause !== undefined)
      yield* unwrapped(error.cause);
  }
}

/** The machine has no more of something; what asked for it is not at fault. */
const SHORTAGES: ReadonlySet<string> = new Set(["EMFILE", "ENFILE", "EAGAIN", "ENOMEM"]);
/** The disk did not do what it was asked. */
const DISK: ReadonlySet<string> = new Set(["EIO", "ENOSPC", "EDQUOT", "EROFS"]);

/** What an error of the system is called, where nothing else is known of it. */
export const codeOfSystem = (code: string, otherwise: UserErrorCode): UserErrorCode =>
  SHORTAGES.has(code) ? "MACHINE_SHORT" : DISK.has(code) ? "STORE_FAILED" : otherwise;

/** Its message names the call and the file. */
function refusedBySystem(error: unknown): UserError | undefined {
  if (!(error instanceof Error && "code" in error && "syscall" in error)) return undefined;
  return new UserError(codeOfSystem(String(error.code), "STATE_UNUSABLE"), error.message, { cause: error });
}

/** A file of the state directory that cannot be used, with what the system said. */
export function unusable(what: string, error: unknown): UserError {
  const { code, message } = error as Error & { readonly code?: unknown };
  return new UserError(codeOfSystem(String(code), "STATE_UNUSABLE"), `${what}: ${message}`, { cause: error });
}
