/**
 * JSON as programs write it: read by the platform alone, which takes a third of the time that our scanner takes before it is compiled. If the
 * value, written again, is the same text, then reading has lost nothing: no key is written twice, and all keys are in their order.
 */
import { DEPTH_MAX } from "./source.ts";

/** For longer texts the scanner gets compiled on the way, and is faster than writing the value again. */
const LENGTH_MAX = 256 * 1024;

/** Nothing where the text is written in another way, is no JSON, or is nested too deeply: then the scanner says what is wrong. */
export function readPlainJson(text: string): { readonly value: unknown } | undefined {
  if (text.length > LENGTH_MAX) return undefined;
  try {
    const value = JSON.parse(text) as unknown;
    const again = JSON.stringify(value, null, /^[[{]\n( *)/.exec(text)?.[1]);
    const isSame = text.length === again.length ? text === again : text === `${again}\n`;
    return isSame && isShallow(value, DEPTH_MAX) ? { value } : undefined;
  } catch {
    return undefined;
  }
}

function isShallow(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  if (levels === 0) return false;
  for (const key in value) if (!isShallow((value as Record<string, unknown>)[key], levels - 1)) return false;
  return true;
}
