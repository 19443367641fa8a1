/** How much time has passed, in milliseconds from some moment on: for spans, not for the time of day. Never goes backwards. */
export function ticks(): number {
  // The platform's `performance` would do as well, but takes a millisecond to load.
  const [seconds, nanos] = process.hrtime();
  return seconds * 1_000 + nanos / 1_000_000;
}
