/** A lease as a simulated session knows it: what it reports with, and for how long the lease holds without a renewal. */
import type { LeaseProof } from "../../../domain/lease.ts";
import type { Millis } from "../../../domain/time.ts";

export interface SimulatedGrant extends LeaseProof {
  /** 0 when the lease is over already. */
  readonly ttl: Millis;
}
