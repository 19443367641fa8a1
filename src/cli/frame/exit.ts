/** Exit codes that say something besides success and failure. */

/** Nothing is wrong, but the command cannot go on: nothing to claim, a task still held, work that must stop. */
export const EXIT_NOTHING = 3;
