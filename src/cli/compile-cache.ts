/**
 * The compile cache: parts of the program as they were compiled when it was built. Node has a cache of compiled code too, but saves it before
 * anything was called: what a start calls would then be compiled at every start, and that took a quarter of it. `scripts/bundle.mjs` writes the
 * parts, and `scripts/compile-cache.mjs` their compiled form.
 */
import { readFileSync } from "node:fs";
import { Script } from "node:vm";

export type Exports = Readonly<Record<string, unknown>>;
/** Imports a module that is not among the parts, when it is needed. */
type Load = (place: string) => Promise<Exports>;
type Body = (parts: readonly Exports[], url: string, load: Load) => Exports;

/** Each part may import those before it, and nothing else. */
export const PARTS = ["look", "start"] as const;
export type PartName = (typeof PARTS)[number];

/** The files of a part: its text, and the code that this Node has compiled. */
export const bodyOf = (name: PartName, folder: string): URL => new URL(`${name}.body.js`, folder);
export const cacheOf = (name: PartName, folder: string): URL =>
  new URL(`${name}.${process.version}-${process.arch}.cache`, folder);

export interface Parts {
  /**
   * The exports of the part, the same for all callers. Nothing where another Node built it: then it is imported like any module. Also nothing for
   * a program that stays: a daemon starts once, and would pay for it twice when it is idle and its memory is collected (70 ms each time,
   * against 10).
   */
  readonly part: (name: PartName) => Exports | undefined;
  /** The parts that were taken, for the build: it keeps the functions that these have called by then. */
  readonly taken: ReadonlyMap<PartName, Script>;
}

export function partsIn(
  folder: string,
  argv: readonly string[] = process.argv,
  load: Load = (place) => import(place.startsWith(".") ? new URL(place, folder).href : place),
): Parts {
  const made = new Map<PartName, Exports | undefined>();
  const taken = new Map<PartName, Script>();
  const part = (name: PartName): Exports | undefined => {
    if (!made.has(name)) made.set(name, argv.includes("serve") ? undefined : make(name));
    return made.get(name);
  };
  const make = (name: PartName): Exports | undefined => {
    const before = PARTS.slice(0, PARTS.indexOf(name)).map(part);
    const script = before.includes(undefined) ? undefined : scriptOf(name, folder);
    if (script === undefined) return undefined;
    taken.set(name, script);
    return (script.runInThisContext() as Body)(before as Exports[], folder, loadAny);
  };
  /** A part is not resolved as a module: that takes longer than running it. */
  const loadAny: Load = async (place) => {
    const name = PARTS.find((each) => place === `./${each}.js`);
    return (name && part(name)) ?? (await load(place));
  };
  return { part, taken };
}

/** The parts of this program. */
export const { part, taken } = partsIn(new URL("./bundle/", import.meta.url).href);

function scriptOf(name: PartName, folder: string): Script | undefined {
  const cachedData = bytesOf(cacheOf(name, folder));
  if (cachedData === undefined) return undefined;
  const body = bodyOf(name, folder);
  const script = new Script(readFileSync(body, "latin1"), { filename: body.href, cachedData });
  // The same Node with other settings of its engine.
  return script.cachedDataRejected === true ? undefined : script;
}

function bytesOf(file: URL): Uint8Array | undefined {
  try {
    return readFileSync(file);
  } catch {
    return undefined;
  }
}
