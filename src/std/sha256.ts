/**
 * SHA-256 (FIPS 180-4) and HMAC (RFC 2104) of a few bytes, for those who cannot wait for a library to be loaded, or to be asked: it takes 60
 * microseconds for an HMAC where nobody has asked for one lately, and this takes five. For many bytes the library is quicker.
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

/** 32 bytes. */
export function sha256(bytes: Uint8Array): Uint8Array {
  return finish(Int32Array.from(FIRST), bytes, 0);
}

const INNER = 0x36;
const OUTER = 0x5c;

/** What the key comes to is found once. */
export function hmacSha256(key: Uint8Array): (message: Uint8Array) => Uint8Array {
  const short = key.length > BLOCK_BYTES ? sha256(key) : key;
  const [inner, outer] = [keyed(short, INNER), keyed(short, OUTER)];
  return (message) => finish(outer.slice(), finish(inner.slice(), message, BLOCK_BYTES), BLOCK_BYTES);
}

/** After one block, which is the key with this on every byte. */
function keyed(key: Uint8Array, pad: number): Int32Array {
  const block = new Uint8Array(BLOCK_BYTES).fill(pad);
  for (let at = 0; at < key.length; at++) block[at] = (key[at] as number) ^ pad;
  const state = Int32Array.from(FIRST);
  mixAll(state, new DataView(block.buffer));
  return state;
}

/** Mixes the last bytes in, with so many before them, and gives what that comes to. */
function finish(state: Int32Array, bytes: Uint8Array, before: number): Uint8Array {
  mixAll(state, padded(bytes, before));
  const digest = new Uint8Array(state.byteLength);
  const view = new DataView(digest.buffer);
  for (let no = 0; no < state.length; no++) view.setInt32(no * 4, state[no] as number);
  return digest;
}

function mixAll(state: Int32Array, blocks: DataView): void {
  const words = new Int32Array(ROUNDS);
  for (let at = 0; at < blocks.byteLength; at += BLOCK_BYTES) {
    spread(blocks, at, words);
    mix(state, words);
  }
}

function padded(bytes: Uint8Array, before: number): DataView {
  const blocks = Math.ceil((bytes.length + 1 + LENGTH_BYTES) / BLOCK_BYTES);
  const all = new Uint8Array(blocks * BLOCK_BYTES);
  all.set(bytes);
  all[bytes.length] = 0x80;
  const view = new DataView(all.buffer);
  view.setBigUint64(all.length - LENGTH_BYTES, BigInt(before + bytes.length) * 8n);
  return view;
}

/** The sixteen words of a block, and what follows from them. */
function spread(blocks: DataView, at: number, words: Int32Array): void {
  for (let no = 0; no < 16; no++) words[no] = blocks.getInt32(at + no * 4);
  for (let no = 16; no < ROUNDS; no++) {
    const a = words[no - 15] as number;
    const b = words[no - 2] as number;
    const low = ((a >>> 7) | (a << 25)) ^ ((a >>> 18) | (a << 14)) ^ (a >>> 3);
    const high = ((b >>> 17) | (b << 15)) ^ ((b >>> 19) | (b << 13)) ^ (b >>> 10);
    words[no] = (words[no - 16] as number) + low + (words[no - 7] as number) + high;
  }
}

function mix(state: Int32Array, words: Int32Array): void {
  let [a, b, c, d, e, f, g, h] = state as unknown as [number, number, number, number, number, number, number, number];
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
  const sums = [a, b, c, d, e, f, g, h];
  for (let no = 0; no < sums.length; no++) state[no] = (state[no] as number) + (sums[no] as number);
}
