/** Exit codes that say something besides success and failure. */

/** Nothing is wrong, and yet it cannot go on: nothing to claim, something still out, work that is to be stopped. */
export const EXIT_NOTHING = 3;
