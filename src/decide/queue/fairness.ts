/** Which run is furthest behind in each lane: first among tenants, then among the runs of one tenant. */
import type { Run, RunNo } from "../../domain/run.ts";
import { PRIORITIES, type Priority } from "../../domain/spec.ts";
import type { Instant, Millis } from "../../domain/time.ts";
import { FairShare } from "./fair-share.ts";

/** The runs of one tenant share among themselves: they do not catch up with what the runs of another tenant have had. */
interface Tenant {
  readonly key: string;
  readonly runs: Set<RunNo>;
  /** Absent for a run that is a tenant by itself: it shares with no other run. */
  readonly shares: Readonly<Record<Priority, FairShare<RunNo>>> | undefined;
}

/** The lane a task went by, and the lane it came from. What a task gets by moving up counts in both lanes, or moving up would be a gift. */
export interface Ways {
  readonly lane: Priority;
  readonly own: Priority;
}

const perLane = <Key>(): Record<Priority, FairShare<Key>> => ({
  critical: new FairShare<Key>(),
  high: new FairShare<Key>(),
  normal: new FairShare<Key>(),
  low: new FairShare<Key>(),
});

export class Fairness {
  readonly #lanes = perLane<string>();
  readonly #tenants = new Map<string, Tenant>();
  readonly #tenantOf = new Map<RunNo, Tenant>();

  join({ no, manifest }: Run): void {
    const { weight = 1 } = manifest;
    // A run without a tenant is a tenant by itself, under a name that no tenant can have.
    const key = manifest.tenant ?? `#${no}`;
    const isAlone = manifest.tenant === undefined;
    const tenant = this.#tenants.get(key) ?? {
      key,
      runs: new Set(),
      shares: isAlone ? undefined : perLane<RunNo>(),
    };
    this.#tenants.set(key, tenant);
    this.#tenantOf.set(no, tenant);
    tenant.runs.add(no);
    for (const lane of PRIORITIES) {
      this.#lanes[lane].join(key, isAlone ? weight : 1, no);
      tenant.shares?.[lane].join(no, weight, no);
    }
  }

  leave({ no }: Run): void {
    const tenant = this.#tenantOf.get(no);
    if (tenant === undefined) return;
    this.#tenantOf.delete(no);
    tenant.runs.delete(no);
    for (const lane of PRIORITIES) tenant.shares?.[lane].leave(no);
    if (tenant.runs.size > 0) return;
    this.#tenants.delete(tenant.key);
    for (const lane of PRIORITIES) this.#lanes[lane].leave(tenant.key);
  }

  queue({ no }: Run, lane: Priority, now: Instant): void {
    const tenant = this.#tenantOf.get(no);
    if (tenant === undefined) return;
    this.#lanes[lane].queue(tenant.key, now);
    tenant.shares?.[lane].queue(no, now);
  }

  unqueue({ no }: Run, lane: Priority): void {
    const tenant = this.#tenantOf.get(no);
    if (tenant === undefined) return;
    this.#lanes[lane].unqueue(tenant.key);
    tenant.shares?.[lane].unqueue(no);
  }

  start({ no }: Run, { lane, own }: Ways, share: number, now: Instant): void {
    const tenant = this.#tenantOf.get(no);
    if (tenant === undefined) return;
    this.#start(tenant, no, lane, share, now);
    if (own !== lane) this.#start(tenant, no, own, share, now);
  }

  end({ no }: Run, { lane, own }: Ways, share: number, ran: Millis, now: Instant): void {
    const tenant = this.#tenantOf.get(no);
    if (tenant === undefined) return;
    this.#end(tenant, no, lane, share, ran, now);
    if (own !== lane) this.#end(tenant, no, own, share, ran, now);
  }

  /** Whether the run is behind the other by more than a task of this share. */
  isOwed(no: RunNo, other: RunNo, lane: Priority, share: number, now: Instant): boolean {
    const [tenant, favoured] = [this.#tenantOf.get(no), this.#tenantOf.get(other)];
    if (tenant === undefined || favoured === undefined) return false;
    if (tenant === favoured) return tenant.shares?.[lane].isOwed(no, other, share, now) === true;
    return this.#lanes[lane].isOwed(tenant.key, favoured.key, share, now);
  }

  /** The run could not use its turn: its own limits held it back, so it does not catch up later. */
  forfeit(no: RunNo, other: RunNo, lane: Priority, now: Instant): void {
    const [tenant, favoured] = [this.#tenantOf.get(no), this.#tenantOf.get(other)];
    if (tenant === undefined || favoured === undefined) return;
    if (tenant === favoured) tenant.shares?.[lane].forfeit(no, other, now);
    // Another run of the same tenant may have been able to use the turn.
    else if (tenant.runs.size === 1) this.#lanes[lane].forfeit(tenant.key, favoured.key, now);
  }

  /** Whether anything waits in the lane. */
  isWaited(lane: Priority): boolean {
    return this.#lanes[lane].queued > 0;
  }

  /** The runs with tasks that wait in the lane, in the order in which they should go. Nothing may change while the caller reads. */
  order(lane: Priority, now: Instant): Iterable<RunNo> {
    return this.#tenantOf.size === 1 ? this.#tenantOf.keys() : this.#inOrder(lane, now);
  }

  #start(tenant: Tenant, no: RunNo, lane: Priority, share: number, now: Instant): void {
    this.#lanes[lane].start(tenant.key, share, now);
    tenant.shares?.[lane].start(no, share, now);
  }

  #end(tenant: Tenant, no: RunNo, lane: Priority, share: number, ran: Millis, now: Instant): void {
    this.#lanes[lane].end(tenant.key, share, ran, now);
    tenant.shares?.[lane].end(no, share, ran, now);
  }

  *#inOrder(lane: Priority, now: Instant): Iterable<RunNo> {
    for (const key of this.#lanes[lane].order(now)) {
      const tenant = this.#tenants.get(key);
      if (tenant === undefined) continue;
      const { runs, shares } = tenant;
      yield* runs.size === 1 || shares === undefined ? runs : shares[lane].order(now);
    }
  }
}
