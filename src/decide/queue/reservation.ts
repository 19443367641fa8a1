/**
 * A task that was passed over for too long gets a reservation: from then on another task may go before it only if that does not make it
 * wait longer. So big tasks never starve, and free room is still used meanwhile.
 */
import { type Instant, instant } from "../../domain/time.ts";
import type { Placement } from "../room/nodes.ts";
import { type Demand, freeAt, type Resource, refilledAt } from "../room/room.ts";
import type { Candidate } from "./queue.ts";

/** A held task: when it should end, and what it gives back then. */
export interface Out {
  readonly until: Instant;
  readonly demands: readonly Demand[];
}

/** When the reserved task should be able to start, and what will be left over then. */
export interface Shadow {
  readonly at: Instant;
  readonly spare: ReadonlyMap<Resource, number>;
}

export const NEVER = instant(Number.MAX_SAFE_INTEGER);

/** Where and when everything the task asks for comes together first. */
export function shadowOf({ shape }: Candidate, out: readonly Out[], now: Instant): Shadow {
  const sorted = [...out].sort((a, b) => a.until - b.until);
  let best: Shadow | undefined;
  for (const placement of shape.placements) {
    const shadow = shadowOn(placement, shape.own, sorted, now);
    if (best === undefined || shadow.at < best.at) best = shadow;
  }
  return best ?? { at: NEVER, spare: new Map() };
}

function shadowOn({ node, demands }: Placement, own: readonly Demand[], out: readonly Out[], now: Instant): Shadow {
  const asked = [...own, ...demands, { resource: node.slots, amount: 1 }];
  const lasting = asked.filter(({ resource }) => resource.refill === undefined);
  const rates = asked.filter(({ resource }) => resource.refill !== undefined);
  const free = new Map(lasting.map(({ resource }) => [resource, resource.free]));
  const fits = (): boolean => lasting.every(({ resource, amount }) => amount <= (free.get(resource) as number));
  const spare = (at: Instant): Map<Resource, number> =>
    new Map(
      asked.map(({ resource, amount }) => [
        resource,
        Math.max(0, (free.get(resource) ?? freeAt(resource, at)) - amount),
      ]),
    );
  let back = 0;
  while (!fits()) {
    const next = out[back++];
    // It is not known when there will be enough: no other task takes of what the reserved one lacks.
    if (next === undefined || next.until === NEVER) return { at: NEVER, spare: spareNow(asked, now) };
    bringBack(free, next);
  }
  const filled = refilledAt(rates, now) ?? now;
  const at = instant(Math.max(now, filled, out[back - 1]?.until ?? now));
  // Every other task that ends by then gives back more than the reserved task asks for.
  for (; (out[back]?.until ?? NEVER) <= at; back++) bringBack(free, out[back] as Out);
  return { at, spare: spare(at) };
}

const spareNow = (asked: readonly Demand[], now: Instant): Map<Resource, number> =>
  new Map(asked.map(({ resource, amount }) => [resource, Math.max(0, freeAt(resource, now) - amount)]));

function bringBack(free: Map<Resource, number>, { demands }: Out): void {
  for (const { resource, amount } of demands) {
    const had = free.get(resource);
    if (had !== undefined) free.set(resource, had + amount);
  }
}

/** The part of a request that the reserved task would then have to wait for. What was taken of a rate does not come back. */
export function inTheWay(demands: readonly Demand[], until: Instant, { at, spare }: Shadow): readonly Demand[] {
  return demands.filter(({ resource, amount }) => {
    const left = spare.get(resource);
    if (left === undefined || amount <= left) return false;
    return resource.refill !== undefined || at === NEVER || until > at;
  });
}

/** Whether a task may go before the reserved one: it ends in time, or takes only what would be left over. */
export const mayPass = (demands: readonly Demand[], until: Instant, shadow: Shadow): boolean =>
  inTheWay(demands, until, shadow).length === 0;
