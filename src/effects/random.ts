/** Randomness as an argument: seeded where a history must be repeatable, secret where a token must not be guessed. */
import { digestBytesOf } from "./digest.ts";
import { nodeCrypto } from "./node-crypto.ts";

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
    if (used + count > block.length) [block, used] = [nodeCrypto().randomBytes(BLOCK_BYTES), 0];
    used += count;
    return block.subarray(used - count, used);
  };
  return {
    token: () => take(32).toString("base64url"),
    seed: () => take(4).readInt32LE(),
    suffix: () => take(4).toString("hex").slice(0, 6),
  };
}

/**
 * The tokens of leases, made from one secret: a caller that asks for the same grant again gets the same token, although only its hash is
 * kept. Without the secret no token can be guessed.
 */
export function tokensFrom(
  secret: string,
): (run: string, task: string, fence: number, ...more: readonly string[]) => string {
  const { createHmac } = nodeCrypto();
  return (...claim) => createHmac("sha256", secret).update(JSON.stringify(claim)).digest("base64url");
}

/** What is stored of a token. */
export const hashToken = (token: string): string => nodeCrypto().hash("sha256", token, "base64url");

/** Whether the token is the one whose hash is stored. The time it takes says nothing about how much of the token was right. */
export function isToken(token: string, stored: string): boolean {
  const kept = Buffer.from(stored, "base64url");
  const given = digestBytesOf(Buffer.from(token));
  return kept.length === given.length && nodeCrypto().timingSafeEqual(given, kept);
}
