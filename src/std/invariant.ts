/** Thrown when the program itself is wrong. Never caught, except to stop cleanly. */
export class InvariantError extends Error {
  override readonly name = "InvariantError";
}

/** States what must be true here. A failure is a bug of ours, not of the user. */
export function invariant(condition: unknown, message: string): asserts condition {
  if (!condition) broken(message);
}

/** For checks that run so often that building the message each time would cost too much: `if (!…) broken(…)`. */
export function broken(message: string): never {
  throw new InvariantError(message);
}

/** Ends a `switch` over a union: the compiler shows every case that was forgotten. */
export function unreachable(value: never): never {
  throw new InvariantError(`unreachable: ${JSON.stringify(value)}`);
}
