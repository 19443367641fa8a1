/**
 * Parts of the program as they were compiled when it was built. Node keeps compiled code too, but saves it before anything was called: what
 * a start calls would then be compiled at every start, and that took a quarter of it. Called by what `scripts/bundle.mjs` writes.
 */
import { readFileSync } from "node:fs";
import { Script } from "node:vm";

export type Exports = Readonly<Record<string, unknown>>;
/** What a part has of the module that it is the body of. */
export interface Surroundings {
  readonly url: string;
  readonly imports: readonly Exports[];
  /** Imports something more, when it is needed. */
  readonly load: (place: string) => Promise<Exports>;
}
type Body = (imports: readonly Exports[], url: string, load: Surroundings["load"]) => Exports;

/** What was taken from here, for the build: what it has called by then is in what it keeps. */
export const taken = new Map<string, Script>();

/** Where a part lies, beside what imports it: as text, and as this Node has compiled it. */
export const bodyOf = (name: string, url: string): URL => new URL(`${name}.body.js`, url);
export const keptOf = (name: string, url: string): URL =>
  new URL(`${name}.${process.version}-${process.arch}.kept`, url);

/**
 * What the part exports. Nothing where it was built by another Node: then it is imported like any module. Nor for a program that stays: a
 * daemon starts once, and would pay for it twice when it has nothing to do and its memory is collected (70 ms each time, against 10).
 */
export function kept(name: string, around: Surroundings, argv: readonly string[] = process.argv): Exports | undefined {
  if (argv.includes("serve")) return undefined;
  const { url, imports, load } = around;
  const cachedData = bytesOf(keptOf(name, url));
  if (cachedData === undefined) return undefined;
  const body = bodyOf(name, url);
  const script = new Script(readFileSync(body, "latin1"), { filename: body.href, cachedData });
  // The same Node with other settings of its engine.
  if (script.cachedDataRejected === true) return undefined;
  taken.set(name, script);
  return (script.runInThisContext() as Body)(imports, url, load);
}

function bytesOf(file: URL): Uint8Array | undefined {
  try {
    return readFileSync(file);
  } catch {
    return undefined;
  }
}
