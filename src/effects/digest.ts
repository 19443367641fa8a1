/** The name of a file or a token by its content: the SHA-256 of its bytes. */
import { nodeCrypto } from "./node-crypto.ts";

export const digestBytesOf = (bytes: Uint8Array): Buffer => nodeCrypto().hash("sha256", bytes, "buffer");

/** In hex. */
export const digestOf = (bytes: Uint8Array): string => nodeCrypto().hash("sha256", bytes, "hex");
