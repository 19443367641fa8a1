/** Who is furthest behind in each lane: first among tenants, then among the runs of one. */
import type { Run, RunNo } from "../domain/run.ts";
import { PRIORITIES, type Priority } from "../domain/spec.ts";
import type { Instant, Millis } from "../domain/time.ts";
import { FairShare } from "./fair-share.ts";

interface LaneShares {
  readonly tenants: FairShare<string>;
  readonly runs: FairShare<RunNo>;
}

export class Fairness {
  readonly #lanes = new Map<Priority, LaneShares>(
    PRIORITIES.map((lane) => [lane, { tenants: new FairShare(), runs: new FairShare() }]),
  );
  readonly #runs = new Map<RunNo, { readonly run: Run; readonly tenant: string }>();

  join(run: Run): void {
    const { weight = 1, tenant } = run.manifest;
    // A run without a tenant is one by itself.
    const key = tenant ?? `${run.no}`;
    this.#runs.set(run.no, { run, tenant: key });
    for (const { tenants, runs } of this.#lanes.values()) {
      tenants.join(key, tenant === undefined ? weight : 1);
      runs.join(run.no, weight);
    }
  }

  leave({ no }: Run): void {
    const tenant = this.#tenantOf(no);
    this.#runs.delete(no);
    const isLast = [...this.#runs.values()].every((each) => each.tenant !== tenant);
    for (const { tenants, runs } of this.#lanes.values()) {
      runs.leave(no);
      if (isLast) tenants.leave(tenant);
    }
  }

  queue({ no }: Run, lane: Priority, now: Instant): void {
    this.#of(lane).tenants.queue(this.#tenantOf(no), now);
    this.#of(lane).runs.queue(no, now);
  }

  unqueue({ no }: Run, lane: Priority): void {
    this.#of(lane).tenants.unqueue(this.#tenantOf(no));
    this.#of(lane).runs.unqueue(no);
  }

  start({ no }: Run, lane: Priority, share: number, now: Instant): void {
    this.#of(lane).tenants.start(this.#tenantOf(no), share, now);
    this.#of(lane).runs.start(no, share, now);
  }

  end({ no }: Run, lane: Priority, share: number, ran: Millis, now: Instant): void {
    this.#of(lane).tenants.end(this.#tenantOf(no), share, ran, now);
    this.#of(lane).runs.end(no, share, ran, now);
  }

  /** The runs, those first that should go first. */
  order(lane: Priority, now: Instant): readonly RunNo[] {
    if (this.#runs.size === 1) return [...this.#runs.keys()];
    const { tenants, runs } = this.#of(lane);
    return Array.from(this.#runs, ([no, { tenant }]) => ({
      no,
      first: tenants.behind(tenant, now),
      second: runs.behind(no, now),
    }))
      .sort((a, b) => a.first - b.first || a.second - b.second || a.no - b.no)
      .map(({ no }) => no);
  }

  #of(lane: Priority): LaneShares {
    return this.#lanes.get(lane) as LaneShares;
  }

  #tenantOf(no: RunNo): string {
    return this.#runs.get(no)?.tenant ?? `${no}`;
  }
}
