/**
 * SHA-256 (FIPS 180-4) and HMAC (RFC 2104) of a few bytes, for those who cannot wait for a library to be loaded, or to be asked: an HMAC
 * took it 60 microseconds where nobody had asked for one lately. For many bytes the library is quicker.
 */

const BLOCK_BYTES = 64;
const ROUNDS = 64;
/** After the bytes come a bit that is set and, at the end of the last block, how many bits there were. */
const LENGTH_BYTES = 8;

/** What the fractions of the first square roots of primes begin with. */
const FIRST = [0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19] as const;
/** The same of cube roots. */
const ROOTS = Int32Array.of(
  0x428a2f98,
  0x71374491,
  0xb5c0fbcf,
  0xe9b5dba5,
  0x3956c25b,
  0x59f111f1,
  0x923f82a4,
  0xab1c5ed5,
  0xd807aa98,
  0x12835b01,
  0x243185be,
  0x550c7dc3,
  0x72be5d74,
  0x80deb1fe,
  0x9bdc06a7,
  0xc19bf174,
  0xe49b69c1,
  0xefbe4786,
  0x0fc19dc6,
  0x240ca1cc,
  0x2de92c6f,
  0x4a7484aa,
  0x5cb0a9dc,
  0x76f988da,
  0x983e5152,
  0xa831c66d,
  0xb00327c8,
  0xbf597fc7,
  0xc6e00bf3,
  0xd5a79147,
  0x06ca6351,
  0x14292967,
  0x27b70a85,
  0x2e1b2138,
  0x4d2c6dfc,
  0x53380d13,
  0x650a7354,
  0x766a0abb,
  0x81c2c92e,
  0x92722c85,
  0xa2bfe8a1,
  0xa81a664b,
  0xc24b8b70,
  0xc76c51a3,
  0xd192e819,
  0xd6990624,
  0xf40e3585,
  0x106aa070,
  0x19a4c116,
  0x1e376c08,
  0x2748774c,
  0x34b0bcb5,
  0x391c0cb3,
  0x4ed8aa4a,
  0x5b9cca4f,
  0x682e6ff3,
  0x748f82ee,
  0x78a5636f,
  0x84c87814,
  0x8cc70208,
  0x90befffa,
  0xa4506ceb,
  0xbef9a3f7,
  0xc67178f2,
);

/** The words of the block at hand, what it is mixed into, and the last block or two. Made once: that takes longer than to mix a block. */
const words = new Int32Array(ROUNDS);
const state = new Int32Array(FIRST.length);
const last = new Uint8Array(2 * BLOCK_BYTES);

/** 32 bytes. */
export function sha256(bytes: Uint8Array): Uint8Array {
  state.set(FIRST);
  return finish(bytes, 0);
}

const INNER = 0x36;
const OUTER = 0x5c;

/** What the key comes to is found once. */
export function hmacSha256(key: Uint8Array): (message: Uint8Array) => Uint8Array {
  const short = key.length > BLOCK_BYTES ? sha256(key) : key;
  const [inner, outer] = [keyed(short, INNER), keyed(short, OUTER)];
  return (message) => {
    state.set(inner);
    const digest = finish(message, BLOCK_BYTES);
    state.set(outer);
    return finish(digest, BLOCK_BYTES);
  };
}

/** After one block, which is the key with this on every byte. */
function keyed(key: Uint8Array, pad: number): Int32Array {
  const block = new Uint8Array(BLOCK_BYTES).fill(pad);
  for (let at = 0; at < key.length; at++) block[at] = (key[at] as number) ^ pad;
  state.set(FIRST);
  mix(block, 0);
  return state.slice();
}

/** Mixes the last bytes in, with so many before them, and gives what that comes to. */
function finish(bytes: Uint8Array, before: number): Uint8Array {
  let at = 0;
  for (; at + BLOCK_BYTES <= bytes.length; at += BLOCK_BYTES) mix(bytes, at);
  const end = lastBlocks(bytes, at, before + bytes.length);
  for (let block = 0; block < end; block += BLOCK_BYTES) mix(last, block);
  const digest = new Uint8Array(state.byteLength);
  for (let no = 0; no < state.length; no++) putWord(digest, no * 4, state[no] as number);
  return digest;
}

/** What is left of the bytes, a bit that is set, and how many bits there were in all. Gives how long that is. */
function lastBlocks(bytes: Uint8Array, from: number, length: number): number {
  const rest = bytes.length - from;
  const end = rest + 1 + LENGTH_BYTES > BLOCK_BYTES ? 2 * BLOCK_BYTES : BLOCK_BYTES;
  last.fill(0, 0, end);
  for (let no = 0; no < rest; no++) last[no] = bytes[from + no] as number;
  last[rest] = 0x80;
  putWord(last, end - LENGTH_BYTES, Math.floor(length / 2 ** 29));
  putWord(last, end - LENGTH_BYTES / 2, length << 3);
  return end;
}

function putWord(bytes: Uint8Array, at: number, word: number): void {
  bytes[at] = word >>> 24;
  bytes[at + 1] = word >>> 16;
  bytes[at + 2] = word >>> 8;
  bytes[at + 3] = word;
}

const wordAt = (bytes: Uint8Array, at: number): number =>
  ((bytes[at] as number) << 24) |
  ((bytes[at + 1] as number) << 16) |
  ((bytes[at + 2] as number) << 8) |
  (bytes[at + 3] as number);

/** The sixteen words of a block, and what follows from them. */
function spread(bytes: Uint8Array, at: number): void {
  for (let no = 0; no < 16; no++) words[no] = wordAt(bytes, at + no * 4);
  for (let no = 16; no < ROUNDS; no++) {
    const a = words[no - 15] as number;
    const b = words[no - 2] as number;
    const low = ((a >>> 7) | (a << 25)) ^ ((a >>> 18) | (a << 14)) ^ (a >>> 3);
    const high = ((b >>> 17) | (b << 15)) ^ ((b >>> 19) | (b << 13)) ^ (b >>> 10);
    words[no] = (words[no - 16] as number) + low + (words[no - 7] as number) + high;
  }
}

/** Mixes the block that begins there into the state. */
function mix(bytes: Uint8Array, at: number): void {
  spread(bytes, at);
  let [a, b, c, d] = [state[0] as number, state[1] as number, state[2] as number, state[3] as number];
  let [e, f, g, h] = [state[4] as number, state[5] as number, state[6] as number, state[7] as number];
  for (let no = 0; no < ROUNDS; no++) {
    const high = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
    const one = (h + high + ((e & f) ^ (~e & g)) + (ROOTS[no] as number) + (words[no] as number)) | 0;
    const low = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
    const two = (low + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + one) | 0;
    d = c;
    c = b;
    b = a;
    a = (one + two) | 0;
  }
  add(0, a);
  add(1, b);
  add(2, c);
  add(3, d);
  add(4, e);
  add(5, f);
  add(6, g);
  add(7, h);
}

function add(no: number, word: number): void {
  state[no] = (state[no] as number) + word;
}
