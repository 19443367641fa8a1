/** Randomness as an argument: seeded where a history must be repeatable, secret where a token must not be guessed. */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { hmacSha256 } from "../std/sha256.ts";
import { digestBytesOf } from "./digest.ts";

/** Loaded when it is needed: it takes four milliseconds, and a plan whose tasks no session claims is run without it. */
const crypto = (): typeof import("node:crypto") => process.getBuiltinModule("node:crypto");

export interface Random {
  /** Uniform in [0, 1). */
  next(): number;
}

/** The same seed gives the same numbers for ever (splitmix32: small, and even enough to spread retries). */
export function seededRandom(seed: number): Random {
  let state = seed | 0;
  return {
    next() {
      state = (state + 0x9e3779b9) | 0;
      let mixed = state ^ (state >>> 16);
      mixed = Math.imul(mixed, 0x21f0aaad);
      mixed ^= mixed >>> 15;
      mixed = Math.imul(mixed, 0x735a2d97);
      return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32;
    },
  };
}

/** Makes secrets and seeds. */
export interface Secrets {
  /** 256 random bits. */
  token(): string;
  /** A seed for a run, to be written down with it. */
  seed(): number;
  /** A short random suffix for names. */
  suffix(): string;
}

/** Random bytes are fetched in blocks: a call to the kernel for each token would cost more than the claim it belongs to. */
const BLOCK_BYTES = 32 * 256;

export function systemSecrets(): Secrets {
  let block: Buffer = Buffer.alloc(0);
  let used = 0;
  const take = (count: number): Buffer => {
    if (used + count > block.length) [block, used] = [randomBlock(), 0];
    used += count;
    return block.subarray(used - count, used);
  };
  return {
    token: () => take(32).toString("base64url"),
    seed: () => take(4).readInt32LE(),
    suffix: () => take(4).toString("hex").slice(0, 6),
  };
}

/** The kernel's own, which is what every other source of secrets is fed from. Where it cannot be read there are other ways to ask for it. */
function randomBlock(): Buffer {
  const block = Buffer.alloc(BLOCK_BYTES);
  return readRandom(block) === BLOCK_BYTES ? block : crypto().randomBytes(BLOCK_BYTES);
}

function readRandom(block: Buffer): number {
  let source: number | undefined;
  try {
    source = openSync("/dev/urandom", "r");
    // Anything else that is called so would say the same every time.
    return fstatSync(source).isCharacterDevice() ? readSync(source, block) : 0;
  } catch {
    return 0;
  } finally {
    if (source !== undefined) closeSync(source);
  }
}

/**
 * The tokens of leases, made from one secret: whoever asks for the same grant again gets the same token, although only its hash is
 * kept. Without the secret none can be guessed.
 */
export function tokensFrom(
  secret: string,
): (run: string, task: string, fence: number, ...more: readonly string[]) => string {
  const hmac = hmacSha256(Buffer.from(secret));
  return (...claim) => asText(hmac(Buffer.from(JSON.stringify(claim))));
}

/** What is stored of a token. */
export const hashToken = (token: string): string => asText(digestBytesOf(Buffer.from(token)));

const asText = ({ buffer, byteOffset, byteLength }: Uint8Array): string =>
  Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength).toString("base64url");

/** Whether the token is the one whose hash is stored. How long it takes says nothing about how much of it was right. */
export function isToken(token: string, stored: string): boolean {
  const kept = Buffer.from(stored, "base64url");
  const given = digestBytesOf(Buffer.from(token));
  return kept.length === given.length && crypto().timingSafeEqual(given, kept);
}

/** Whether somebody has given the secret itself. How long it takes says nothing about how much of it was right. */
export function isSecret(given: string, secret: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(secret)];
  return a.length === b.length && crypto().timingSafeEqual(a, b);
}
