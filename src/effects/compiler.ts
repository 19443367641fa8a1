/** How soon the platform compiles for good what is called again and again. */
import { flushCompileCache } from "node:module";
import { setFlagsFromString } from "node:v8";

/**
 * For a program that lives long and is called seldom. By itself the platform waits for 3,000 calls, which for most of what a submit calls is
 * as many submits; what it has made of it until then is larger, and has to come back into the processor after every pause (0.2 of 1.8
 * milliseconds from a submit to the claim that it answers). A short command would only pay for it. To be called when everything is loaded.
 */
export function compileSoon(): void {
  if (!process.versions.v8.startsWith(KNOWN)) return;
  // What was compiled so far is kept for the next start, which would not take it from one with other settings.
  flushCompileCache();
  for (const [flag, calls] of Object.entries(CALLS)) setFlagsFromString(`${flag}=${calls}`);
}

/** What these are called differs from one to the next, and one that does not know them would complain. */
const KNOWN = "13.";

/** After how many calls each of the two compilers has its turn. */
export const CALLS = { "--invocation-count-for-maglev": 100, "--invocation-count-for-turbofan": 200 } as const;
