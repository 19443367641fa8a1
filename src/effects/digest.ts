/** What a file or a token is known by: the SHA-256 of its bytes. */
import { sha256 } from "../std/sha256.ts";

/** Of fewer bytes it is there before Node's own is loaded, which takes four milliseconds and is otherwise not needed to run a plan. */
const SHORT_BYTES = 16 * 1024;

export const digestBytesOf = (bytes: Uint8Array): Uint8Array =>
  bytes.length <= SHORT_BYTES ? sha256(bytes) : process.getBuiltinModule("node:crypto").hash("sha256", bytes, "buffer");

/** In hex. */
export const digestOf = (bytes: Uint8Array): string => Buffer.from(digestBytesOf(bytes)).toString("hex");
