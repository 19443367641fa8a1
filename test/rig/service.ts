/** A daemon's service for tests of what stands before it: it writes down every call, and answers what the test says. */

import type { EventReply, Grant, SessionReply } from "../../src/wire/answers.ts";
import type { Caller, Service } from "../../src/wire/service.ts";
import { manifestReply, startedEvent, statusReply, whyReply } from "./replies.ts";

export interface Asked {
  readonly method: string;
  readonly given: readonly unknown[];
}

type Answers = { [Name in keyof Service]?: (...given: Parameters<Service[Name]>) => unknown };

const AT = "2026-01-02T03:04:05.000Z";
export const GRANT: Grant = {
  ...{ run: "r1", task: "build", attempt: 1, fence: 1, token: "secret", deadline: AT, ttl_ms: 300_000 },
  ...{ priority: "normal", command: "make", directory: "/w", env: { A: "1" }, reads: [], writes: [], labels: {} },
};
const LEASE = { run: "r1", task: "build", fence: 1, deadline: AT };
const SETTLED = { run: "r1", task: "build", fence: 1, state: "succeeded", repeated: false };
const SESSION: SessionReply = {
  ...{ session: "s1", agent: "claude", pool: "claude", mode: "pull", capabilities: [], slots: 1, ttl_ms: 300_000 },
  ...{ state: "idle", seen_at: AT, holds: [{ run: "r1", task: "build", fence: 1, deadline: AT }] },
};
const SUBMITTED = { run: "r1", tasks: 2, repeated: false };
const DONE = { run: "r1", task: "build", answer: "done" } as const;

/** What is answered unless the test says otherwise. */
export const USUAL: { readonly [Name in keyof Service]: Awaited<ReturnType<Service[Name]>> } = {
  info: {
    ...{ version: "0.1.0", pid: 1, state: "/s", socket: "/s/rota.sock", since: AT, workers: 2, paused: [], runs: 0 },
    ...{ queued: 0, out: 0, parked: 0, sessions: 0, pools: [], last_seq: 0 },
  },
  submit: SUBMITTED,
  runs: [{ run: "r1", name: "release", state: "active", tasks: 2 }],
  status: statusReply(),
  manifest: manifestReply(),
  why: whyReply(),
  await: { run: "r1", outcome: "succeeded" },
  events: [],
  follow: undefined,
  join: SESSION,
  beat: SESSION,
  leave: undefined,
  sessions: [SESSION],
  workers: [{ worker: "w1", kind: "local", pool: "local", state: "idle" }],
  wake: { run: "r1", task: "build", until: AT, reason: "offered" },
  assignment: GRANT,
  claim: GRANT,
  start: LEASE,
  heartbeat: { ...LEASE, stop: { kind: "cancel", why: "enough" } },
  progress: LEASE,
  complete: SETTLED,
  fail: SETTLED,
  release: SETTLED,
  pause: { of: "scheduler", by: "mo", at: AT },
  resume: { resumed: true },
  drain: { drained: true, remaining: [] },
  cancel: DONE,
  retry: SUBMITTED,
  requeue: DONE,
  approve: DONE,
  edit: DONE,
  cycle: {
    ...{ at: AT, paused: false, pending: 1, active: 1, sessions: 1, recovered: [], wakeFailures: 0, noMatch: [] },
    ...{ woken: [{ task: "r1/build", session: "s1" }], capacity: 0, cooling: 0, starved: [], spawned: [], parked: [] },
    ...{ unclaimable: 0, recentlyNotified: 0, recoveryErrors: [], wakeErrors: [] },
    errors: [],
  },
  stats: {
    ...{
      cycles: 1,
      rebuilds: 0,
      recovered: 0,
      recoveryErrors: 0,
      unclaimable: 0,
      recentlyNotified: 0,
      wakes: 1,
      wakeFailures: 0,
      noMatch: 0,
      starved: 0,
      spawned: 0,
      parked: 0,
    },
  },
};

/** `asked` grows with every call. */
export function scriptedService(answers: Answers = {}): Service & { readonly asked: Asked[] } {
  const asked: Asked[] = [];
  const methods = Object.entries(USUAL).map(([method, usual]) => [
    method,
    async (...given: unknown[]): Promise<unknown> => {
      asked.push({ method, given });
      const answer = answers[method as keyof Service] as ((...given: unknown[]) => unknown) | undefined;
      return answer === undefined ? usual : await answer(...given);
    },
  ]);
  return Object.assign(Object.fromEntries(methods), { asked });
}

/** Kept when the caller gives up: what a call that waits for something that never comes does. */
export const untilGivenUp = ({ signal }: Caller): Promise<void> =>
  new Promise((resolve) => {
    if (signal?.aborted === true) return resolve();
    signal?.addEventListener("abort", () => resolve(), { once: true });
  });

/** A ledger that is read and followed as the real one is. */
export class Ledger {
  readonly events: EventReply[] = [];
  readonly followers = new Set<(event: EventReply) => void>();

  add(count: number, more: object = {}): void {
    for (let no = 0; no < count; no++) {
      const event = { ...startedEvent(this.events.length + 1), ...more };
      this.events.push(event);
      for (const tell of this.followers) tell(event);
    }
  }

  readonly answers: Answers = {
    events: ({ after, limit }) => this.events.slice(after, after + limit),
    follow: async ({ after }, tell, signal) => {
      for (const event of this.events.slice(after)) tell(event);
      this.followers.add(tell);
      await untilGivenUp({ by: "", signal });
      this.followers.delete(tell);
    },
  };
}
