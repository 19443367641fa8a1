/** A timer for spans of any length: one that is longer than the platform's can be is taken by it for none at all. */

export interface Timer {
  cancel(): void;
}

/** The longest span that the platform takes. */
const SPAN_MAX = 2 ** 31 - 1;

export function after(ms: number, then: () => void): Timer {
  let left = ms;
  let handle: NodeJS.Timeout;
  const arm = (): void => {
    const span = Math.min(left, SPAN_MAX);
    left -= span;
    handle = setTimeout(() => (left > 0 ? arm() : then()), span);
  };
  arm();
  return { cancel: () => clearTimeout(handle) };
}
