/** From bytes to text: strict UTF-8 without NUL, of a bounded size. A byte order mark is allowed and dropped. */
import { err, ok, type Result } from "../../std/result.ts";
import type { Finding } from "../check/diagnostics.ts";

/** Enough for several million tasks; beyond it the text itself would not fit comfortably in memory. */
const PLAN_BYTES_MAX = 256 * 2 ** 20;

const BOM = [0xef, 0xbb, 0xbf] as const;
const BOM_CODE = 0xfeff;

/** The text of a plan, or the one finding that says why there is none. `prefix` is what stands before the fault, for its position. */
export function decode(
  bytes: Uint8Array,
  bytesMax: number = PLAN_BYTES_MAX,
): Result<string, { readonly finding: Finding; readonly prefix: string }> {
  if (bytes.length > bytesMax) {
    return refuse("PLAN_TOO_LARGE", `The plan has ${bytes.length} bytes; at most ${bytesMax} are read.`, "");
  }
  const utf16 = startsWith(bytes, [0xff, 0xfe]) || startsWith(bytes, [0xfe, 0xff]);
  if (utf16) return refuse("PLAN_ENCODING", "The plan is encoded as UTF-16.", "");

  const body = startsWith(bytes, BOM) ? bytes.subarray(BOM.length) : bytes;
  const nul = body.indexOf(0);
  if (nul !== -1) return refuse("PLAN_ENCODING", "The plan holds a NUL character.", readable(body.subarray(0, nul)));
  try {
    return ok(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body));
  } catch {
    const bad = firstBadByte(body);
    // The text before the fault: the broken character is the place to show.
    const prefix = new TextDecoder("utf-8", { ignoreBOM: true }).decode(body.subarray(0, bad), { stream: true });
    const byte = body[new TextEncoder().encode(prefix).length];
    const fault =
      bad === body.length ? "it ends inside a character" : `byte 0x${byte?.toString(16)} begins no character`;
    return refuse("PLAN_ENCODING", `The plan is not UTF-8: ${fault}.`, prefix);
  }
}

/** As `decode`, for a plan that came as text: as if it had been read from a file that holds the text. */
export function decodeText(text: string, bytesMax: number = PLAN_BYTES_MAX): ReturnType<typeof decode> {
  // Each UTF-16 unit takes at most three bytes, so most texts need not be counted exactly.
  if (text.length * 3 > bytesMax) return decode(new TextEncoder().encode(text), bytesMax);
  const whole = text.toWellFormed();
  const body = whole.charCodeAt(0) === BOM_CODE ? whole.slice(1) : whole;
  const nul = body.indexOf("\0");
  return nul === -1 ? ok(body) : refuse("PLAN_ENCODING", "The plan holds a NUL character.", body.slice(0, nul));
}

function refuse(code: "PLAN_TOO_LARGE" | "PLAN_ENCODING", message: string, prefix: string) {
  return err({ finding: { code, message, spot: { offset: prefix.length } }, prefix });
}

const startsWith = (bytes: Uint8Array, start: readonly number[]): boolean =>
  start.every((byte, at) => bytes[at] === byte);

const readable = (bytes: Uint8Array): string => new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);

/** Halves the bytes until it finds the first that no character can begin or continue with. */
function firstBadByte(bytes: Uint8Array): number {
  let low = 0;
  let high = bytes.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isPrefixOfUtf8(bytes.subarray(0, middle + 1))) low = middle + 1;
    else high = middle;
  }
  return low;
}

function isPrefixOfUtf8(bytes: Uint8Array): boolean {
  try {
    // `stream` allows the last character to be unfinished.
    new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: true });
    return true;
  } catch {
    return false;
  }
}
