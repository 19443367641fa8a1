/** How much time has passed, in milliseconds from some moment on: for spans, not for what time it is. Never goes backwards. */
export function ticks(): number {
  // The platform's `performance` would do as well, but takes a millisecond to be loaded.
  const [seconds, nanos] = process.hrtime();
  return seconds * 1_000 + nanos / 1_000_000;
}
