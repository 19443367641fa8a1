/** How a command ends at an error that no caller catches. */
import { later, seconds } from "../domain/time.ts";
import { systemClock, type Timer } from "../effects/clock.ts";
import { hearFaults } from "../effects/faults.ts";

const ENDS_WITHIN = seconds(20);

/**
 * An error that no caller catches ends the command like an error that a caller has caught. A scheduler first stops its running attempts in
 * order, if it still can.
 */
export function endingAtFaults(): Disposable & { readonly heard: Promise<never> } {
  const { promise, reject } = Promise.withResolvers<never>();
  // A command that ends by itself hears of no such error.
  promise.catch(() => {});
  const clock = systemClock();
  let timer: Timer | undefined;
  const listening = hearFaults((error, endsInOrder) => {
    if (endsInOrder) timer ??= clock.at(later(clock.now(), ENDS_WITHIN), () => reject(error));
    else reject(error);
    return true;
  });
  const dispose = (): void => {
    timer?.cancel();
    listening[Symbol.dispose]();
  };
  return { heard: promise, [Symbol.dispose]: dispose };
}
