/**
 * JSON as programs write it: read by the platform alone, which takes a third of what it takes to walk over it while that is not compiled. If the value, written again, is the
 * text to the letter, then reading has lost nothing: no key stands there twice, and all of them stand in their order.
 */
import { DEPTH_MAX } from "./source.ts";

/** By then walking over it is compiled, and takes less than to write it again. */
const LENGTH_MAX = 256 * 1024;

/** Nothing where the text is written otherwise, is no JSON at all, or is nested too deeply: then it is for the scanner to say what it is. */
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
