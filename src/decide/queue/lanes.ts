/** Four priorities share the dispatches 50/30/15/5: interleaved, exact in every hundred, and never idle while another could go. */
import { PRIORITIES, type Priority } from "../../domain/spec.ts";

export const LANE_WEIGHTS: Readonly<Record<Priority, number>> = { critical: 50, high: 30, normal: 15, low: 5 };

/** `shares`: by the weights, so that no lane starves. `strict`: the more urgent lane always first. */
export const LANE_POLICIES = ["shares", "strict"] as const;
export type LanePolicy = (typeof LANE_POLICIES)[number];

/** Smooth weighted round-robin: each turn every lane that could go earns its weight, and the richest lane pays the sum of these to go. */
export class Lanes {
  readonly #policy: LanePolicy;
  readonly #credit: Record<Priority, number> = { critical: 0, high: 0, normal: 0, low: 0 };

  constructor(policy: LanePolicy = "shares") {
    this.#policy = policy;
  }

  /** The offer of the lane whose turn it is, among the lanes that offer anything. */
  pick<Offer>(offerOf: (lane: Priority) => Offer | undefined): Offer | undefined {
    let best: Priority | undefined;
    let found: Offer | undefined;
    let resource = 0;
    for (const lane of PRIORITIES) {
      const offer = offerOf(lane);
      if (offer === undefined) continue;
      if (this.#policy === "strict") return offer;
      resource += LANE_WEIGHTS[lane];
      this.#credit[lane] += LANE_WEIGHTS[lane];
      if (best === undefined || this.#credit[lane] > this.#credit[best]) [best, found] = [lane, offer];
    }
    if (best !== undefined) this.#credit[best] -= resource;
    return found;
  }
}
