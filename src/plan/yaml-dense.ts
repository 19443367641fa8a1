/**
 * Finds text that is all structure and no content. Nobody writes it, and the parser of all of YAML takes up to ten times as long for it as for a
 * plan of the same size, so that a few megabytes of brackets would hold up everybody who waits for the daemon.
 */

/** Brackets that are open at once. Those in quoted text count too: a text with a thousand more opened than closed is none of a plan's. */
const OPEN_MAX = 1_000;
/** Words in a row that begin with a sign of YAML's own. */
const SIGNS_MAX = 500;

const [LF, CR, SPACE, TAB] = [0x0a, 0x0d, 0x20, 0x09] as const;
const codesOf = (signs: string): ReadonlySet<number> => new Set(signs.split("").map((sign) => sign.charCodeAt(0)));
const OPENERS = codesOf("[{");
const CLOSERS = codesOf("]}");
const SIGNS = codesOf("[{-?&!*:,|>");

/** Where it becomes too much; nothing when it never does. */
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
