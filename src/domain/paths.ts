/**
 * Paths a task reads or writes, and whether two of them can mean the same file.
 *
 * A path covers itself and everything below it, so `src` and `src/` both cover `src/a.ts`. Globs know `*`, `?`, `**`,
 * `[ab]` and `{a,b}`. Where the answer would cost too much to be exact it is yes: two tasks that need not wait for each
 * other then do, which is slow, while the opposite mistake would be wrong.
 */

export const PATH_LENGTH_MAX = 4096;
const CONTROL = /\p{Cc}/u;
const GLOB = /[*?[\]{}]/;
/** The whole of the plan's directory. */
const EVERYTHING = "./";

/**
 * The one way to write a path relative to the plan's directory: no `.`, no `..`, no doubled slash, composed characters.
 * A slash at the end is kept. Nothing when the path is empty, absolute, leads out of the directory, or is not a path.
 */
export function normalizePath(raw: string): string | undefined {
  if (raw === "" || raw.length > PATH_LENGTH_MAX || raw.startsWith("/") || raw.includes("\\")) return undefined;
  if (CONTROL.test(raw) || !raw.isWellFormed()) return undefined;
  const kept: string[] = [];
  for (const segment of raw.normalize("NFC").split("/")) {
    if (segment === "" || segment === ".") continue;
    if (segment !== "..") {
      kept.push(segment);
      continue;
    }
    const parent = kept.pop();
    // `*/..` may be anywhere once links are followed, so there is no single way to write it.
    if (parent === undefined || GLOB.test(parent)) return undefined;
  }
  if (kept.length === 0) return EVERYTHING;
  return raw.endsWith("/") ? `${kept.join("/")}/` : kept.join("/");
}

/** The same path from the root. The slash at its end stays. */
export const below = (directory: string, path: string): string =>
  `${directory.endsWith("/") ? directory : `${directory}/`}${path === EVERYTHING ? "" : path}`;

/** A normalised path made ready to be compared with many others. */
export interface PathPattern {
  /** Names, or globs of `*` and `?` alone; `**` stands for any number of names. */
  readonly segments: readonly string[];
  /** How many segments stand before the first glob: everything the path covers lies below them. */
  readonly literals: number;
}

export function compilePath(path: string): PathPattern {
  const all = path.split("/").filter((segment) => segment !== "" && segment !== ".");
  // Where slashes stand inside braces, as in `{a/b,c}`, the path is taken to cover all from there on.
  const torn = path.includes("{") ? all.findIndex((segment) => count(segment, "{") !== count(segment, "}")) : -1;
  const whole = torn === -1 ? all : all.slice(0, torn);
  const globAt = whole.findIndex((segment) => GLOB.test(segment));
  return { segments: whole.map(simplify), literals: globAt === -1 ? whole.length : globAt };
}

const count = (text: string, char: string): number => text.split(char).length - 1;

/** Classes become `?` and choices become `*`: both match at least what they did. */
function simplify(segment: string): string {
  if (segment === "**" || !GLOB.test(segment)) return segment;
  return segment
    .replace(/\{.*\}/g, "*")
    .replace(/\[[^\]]+\]/g, "?")
    .replace(/[[\]{}]/g, "*")
    .replace(/\*+/g, "*");
}

/** Whether some file can be covered by both. Takes normalised paths. */
export const overlaps = (a: string, b: string): boolean => a === b || patternsOverlap(compilePath(a), compilePath(b));

/** As `overlaps`, for paths that are compared often. */
export function patternsOverlap(a: PathPattern, b: PathPattern): boolean {
  const isDeep = a.segments.includes("**") || b.segments.includes("**");
  return isDeep ? meetSomewhere(a.segments, b.segments) : meetInStep(a.segments, b.segments);
}

/** Without `**` the segments stand face to face, and the shorter path covers the rest of the longer. */
function meetInStep(left: readonly string[], right: readonly string[]): boolean {
  const shared = Math.min(left.length, right.length);
  for (let at = 0; at < shared; at++) {
    if (!segmentsMeet(left[at] as string, right[at] as string)) return false;
  }
  return true;
}

/** `**` stands for any number of segments: walks every pair of places that can be reached together. */
function meetSomewhere(left: readonly string[], right: readonly string[]): boolean {
  if (left.length * right.length > PLACES_MAX) return true;
  const width = right.length + 1;
  const reached = new Uint8Array((left.length + 1) * width);
  reached[0] = 1;
  for (let i = 0; i <= left.length; i++) {
    for (let j = 0; j <= right.length; j++) {
      if (reached[i * width + j] === 0) continue;
      if (i === left.length || j === right.length) return true;
      const [a, b] = [left[i] as string, right[j] as string];
      if (a === "**" || b === "**") {
        reached[(i + 1) * width + j] = 1;
        reached[i * width + j + 1] = 1;
      } else if (segmentsMeet(a, b)) reached[(i + 1) * width + j + 1] = 1;
    }
  }
  return false;
}

const WILD = /[*?]/;
/** The most pairs of places that are walked to compare two patterns. Patterns written by hand have fewer; for larger ones the answer is yes. */
const PLACES_MAX = 65_536;

/** Whether one name can match both. */
function segmentsMeet(a: string, b: string): boolean {
  if (a === b) return true;
  return (WILD.test(a) || WILD.test(b)) && namesMeet(a, b);
}

/** As `meetSomewhere`, for the characters of one segment: `*` is any number of them, `?` is one. */
function namesMeet(a: string, b: string): boolean {
  if (a.length * b.length > PLACES_MAX) return true;
  const width = b.length + 1;
  const reached = new Uint8Array((a.length + 1) * width);
  reached[0] = 1;
  for (let i = 0; i <= a.length; i++) {
    for (let j = 0; j <= b.length; j++) {
      if (reached[i * width + j] === 0) continue;
      if (a[i] === "*" || b[j] === "*") {
        if (i < a.length) reached[(i + 1) * width + j] = 1;
        if (j < b.length) reached[i * width + j + 1] = 1;
      } else if (i < a.length && j < b.length && (a[i] === b[j] || a[i] === "?" || b[j] === "?")) {
        reached[(i + 1) * width + j + 1] = 1;
      }
    }
  }
  return reached[a.length * width + b.length] === 1;
}
