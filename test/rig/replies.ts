/** Replies as a daemon gives them, with what a test does not care about filled in. */
import type { EventReply, ManifestReply, StatusReply, WhyReply } from "../../src/wire/answers.ts";

const AT = "2026-03-14T12:00:00.000Z";
const COUNTS = {
  blocked: 0,
  ready: 0,
  claimed: 0,
  running: 0,
  verifying: 0,
  succeeded: 0,
  failed: 0,
  cancelled: 0,
  skipped: 0,
};

export const statusReply = (
  about: Partial<Omit<StatusReply, "tasks">> & { readonly tasks?: Partial<StatusReply["tasks"]> } = {},
): StatusReply => ({
  ...{ run: "r1", name: "release", file: "/w/plan.yaml", state: "running" },
  ...{ at: AT, submitted_at: AT, ended_at: null, owner: null },
  ...{ running: [], waiting: [], failed: [], resources: [], paused: [], sessions: [] },
  queue: { critical: 0, high: 0, normal: 0, low: 0 },
  ...about,
  tasks: { total: 0, ...COUNTS, parked: 0, ...about.tasks },
});

export const whyReply = (about: Partial<WhyReply> = {}): WhyReply => ({
  ...{ run: "r1", task: "build", at: AT, state: "ready", reason: "capacity", gates: [], priority: "normal" },
  ...{ rank: 1, rank_unit: "hops", attempt: 0, failures: 0, attempts_max: 1 },
  ...about,
});

export const startedEvent = (seq: number): EventReply => ({
  ...{ seq, at: AT, run: "r1", kind: "started", task: "build", version: 1, attempt: 1, fence: 1 },
});

export const manifestReply = (): ManifestReply => ({
  ...{ manifest: 1, rota: "0.1.0", at: AT, plan: { name: "release", tasks: [] }, tasks: [], events: [] },
  run: {
    ...{ id: "r1", no: 1, state: "active", outcome: null, submitted_at: AT, ended_at: null },
    ...{ directory: "/w", file: "/w/plan.yaml", digest: "d", seed: 1 },
  },
});
