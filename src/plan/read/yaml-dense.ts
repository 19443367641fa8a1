/**
 * Finds text that is all structure and no content. No person writes such text, and the full YAML parser takes up to ten times as long for it as
 * for a plan of the same size, so a few megabytes of brackets would keep every caller of the daemon waiting.
 */

/** Brackets that are open at once. Brackets in quoted text count too: a plan never has a thousand more opened than closed. */
const OPEN_MAX = 1_000;
/** Words in a row that begin with a special sign of YAML. */
const SIGNS_MAX = 500;

const [LF, CR, SPACE, TAB] = [0x0a, 0x0d, 0x20, 0x09] as const;
const codesOf = (signs: string): ReadonlySet<number> => new Set(signs.split("").map((sign) => sign.charCodeAt(0)));
const OPENERS = codesOf("[{");
const CLOSERS = codesOf("]}");
const SIGNS = codesOf("[{-?&!*:,|>");

/** The offset at which it becomes too dense; nothing when it never does. */
export function tooDenseAt(text: string): number | undefined {
  let open = 0;
  let signs = 0;
  let between = true;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === SPACE || code === LF || code === CR || code === TAB) {
      between = true;
      continue;
    }
    if (between) signs = SIGNS.has(code) ? signs + 1 : 0;
    between = false;
    if (OPENERS.has(code)) open++;
    else if (CLOSERS.has(code) && open > 0) open--;
    if (open > OPEN_MAX || signs > SIGNS_MAX) return at;
  }
  return undefined;
}
