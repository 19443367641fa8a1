/** What a file is known by: the SHA-256 of its bytes, in hex. */
import { sha256 } from "../std/sha256.ts";

/** Of fewer bytes it is there before Node's own is loaded, which takes four milliseconds and is otherwise not needed to run a plan. */
const SHORT_BYTES = 16 * 1024;

export const digestOf = (bytes: Uint8Array): string =>
  bytes.length <= SHORT_BYTES ? sha256(bytes) : process.getBuiltinModule("node:crypto").hash("sha256", bytes);
