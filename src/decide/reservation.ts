/**
 * A task that was passed over for too long gets a reservation: from then on others may go before it only if that does not make it
 * wait longer. So the big never starve, and what is free meanwhile is still used.
 */
import type { Instant } from "../domain/time.ts";
import { instant } from "../domain/time.ts";
import type { Spot } from "./nodes.ts";
import type { Candidate } from "./queue.ts";
import { type Draw, freeAt, type Pot } from "./room.ts";

/** A task that is out, when it should be back, and what it brings back then. */
export interface Out {
  readonly until: Instant;
  readonly draws: readonly Draw[];
}

/** When the reserved task should be able to start, and what will be left over then. */
export interface Shadow {
  readonly at: Instant;
  readonly spare: ReadonlyMap<Pot, number>;
}

const NEVER = instant(Number.MAX_SAFE_INTEGER);

/** Where and when everything the task asks for comes together first. */
export function shadowOf({ shape }: Candidate, out: readonly Out[], now: Instant): Shadow {
  const sorted = [...out].sort((a, b) => a.until - b.until);
  let best: Shadow | undefined;
  for (const spot of shape.spots) {
    const shadow = shadowOn(spot, shape.own, sorted, now);
    if (best === undefined || shadow.at < best.at) best = shadow;
  }
  return best ?? { at: NEVER, spare: new Map() };
}

function shadowOn({ node, draws }: Spot, own: readonly Draw[], out: readonly Out[], now: Instant): Shadow {
  const asked = [...own, ...draws, { pot: node.slots, amount: 1 }];
  const free = new Map(asked.map(({ pot }) => [pot, freeAt(pot, now)]));
  const fits = (): boolean => asked.every(({ pot, amount }) => amount <= (free.get(pot) as number));
  const spare = (): Map<Pot, number> =>
    new Map(asked.map(({ pot, amount }) => [pot, Math.max(0, (free.get(pot) as number) - amount)]));
  if (fits()) return { at: now, spare: spare() };
  for (const { until, draws: back } of out) {
    for (const { pot, amount } of back) {
      const had = free.get(pot);
      if (had !== undefined) free.set(pot, had + amount);
    }
    if (fits()) return { at: until, spare: spare() };
  }
  return { at: NEVER, spare: spare() };
}

/** Whether something may go before the reserved one: it is back in time, or takes only what would be left over. */
export function mayPass(draws: readonly Draw[], until: Instant, { at, spare }: Shadow): boolean {
  if (at !== NEVER && until <= at) return true;
  return draws.every(({ pot, amount }) => {
    const left = spare.get(pot);
    return left === undefined || amount <= left;
  });
}
