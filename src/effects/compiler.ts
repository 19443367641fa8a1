/** How soon the platform compiles for good what is called again and again. */
import { flushCompileCache } from "node:module";
import { setFlagsFromString } from "node:v8";

/** After how many calls each of the two compilers has its turn. */
interface Calls {
  readonly "--invocation-count-for-maglev": number;
  readonly "--invocation-count-for-turbofan": number;
}

/**
 * For a program that lives long and is called seldom. By itself the platform waits for 3,000 calls, which for most of what a submit calls is
 * as many submits; what it has made of it until then is larger, and has to come back into the processor after every pause (0.2 of 1.8
 * milliseconds from a submit to the claim that it answers).
 */
export const SOON: Calls = { "--invocation-count-for-maglev": 100, "--invocation-count-for-turbofan": 200 };

/**
 * For one that is over soon, in which case it was all for nothing, or else has thousands of tasks: what compiles takes the processor from
 * what is run (0.15 of 1.1 milliseconds a task for the first two hundred).
 */
export const LATE: Calls = { "--invocation-count-for-maglev": 10_000, "--invocation-count-for-turbofan": 30_000 };

/** To be called when what is needed at once is loaded: of what was compiled under other settings nothing is taken. */
export function compileAfter(calls: Calls): void {
  if (!process.versions.v8.startsWith(KNOWN)) return;
  // What was compiled so far is kept for the next start, which would not take it from one with other settings.
  flushCompileCache();
  for (const [flag, count] of Object.entries(calls)) setFlagsFromString(`${flag}=${count}`);
}

/** What these are called differs from one to the next, and one that does not know them would complain. */
const KNOWN = "13.";
