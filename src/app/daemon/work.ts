/** The part of the service for sessions: join, wait for a wake, claim, and report. */
import { runId, taskId, workerId } from "../../domain/ids.ts";
import type { LeaseProof } from "../../domain/lease.ts";
import type { Failure } from "../../domain/outcome.ts";
import { SESSION_TTL, type Session, type SessionProfile } from "../../domain/sessions/session.ts";
import { isHeld } from "../../domain/task.ts";
import { type Millis, millis } from "../../domain/time.ts";
import type { EngineApi } from "../../engine/engine-api.ts";
import type { LeaseGrant } from "../../engine/sessions/claim.ts";
import type { LeaseReport, LeaseReportResult } from "../../engine/sessions/session-reports.ts";
import type { Grant, SessionReply, Wake } from "../../wire/answers.ts";
import type { FailRequest, JoinRequest, LeaseRequest } from "../../wire/messages.ts";
import type { Caller, Service } from "../../wire/service.ts";
import { findRun } from "../look/reader.ts";
import { handoverOf } from "./handover.ts";
import { type Parts, visitorOf } from "./parts.ts";
import { grantReply, isoOf, leaseReply, settledReply } from "./reply.ts";
import { type Wakes, wakeOf } from "./wakes.ts";

type Work = Pick<
  Service,
  | "join"
  | "beat"
  | "leave"
  | "sessions"
  | "wake"
  | "assignment"
  | "claim"
  | "start"
  | "heartbeat"
  | "progress"
  | "complete"
  | "fail"
  | "release"
>;

/** How many suffixes are tried before a longer one is made. */
const TRIES_MAX = 8;

export interface WorkParts extends Parts {
  readonly wakes: Wakes;
  readonly sessionTtl?: Millis;
  /** The reason in the answer to a session that asks for its offer. */
  readonly wakeReason: string;
}

export function workOf(parts: WorkParts): Work {
  const { scheduler, wakes } = parts;
  const { engine, secrets, clock } = scheduler;
  /** The engine for this caller: everything about sessions, claims and leases goes through it. */
  const apiOf = (caller: Caller): EngineApi => engine.api.as(visitorOf(caller));
  const handed = async (granted: LeaseGrant | undefined): Promise<Grant | undefined> =>
    granted && { ...grantReply(granted), ...(await handoverOf(parts, granted)) };
  const show = (session: Session): SessionReply => sessionReply(parts, session);
  const report = async (request: LeaseRequest, leaseReport: LeaseReport, caller: Caller): Promise<LeaseReportResult> =>
    await apiOf(caller).report(leaseProofOf(request), leaseReport);
  return {
    join: async (request, caller) =>
      show(await apiOf(caller).join(profileOf(request, parts, freshSuffix(request.agent)))),
    beat: async (session, { state }, caller) => show(await apiOf(caller).beat(session, state)),
    leave: async (session, caller) => apiOf(caller).leave(session, `it left, asked by ${caller.by}`),
    sessions: async () => {
      const { claiming } = engine;
      return Array.from(engine.world.sessions.values(), (each) => ({
        ...show(each),
        claiming: claiming.has(each.profile.id),
      }));
    },
    wake: async (session, waitMs, caller) => {
      const { signal } = caller;
      const leave = apiOf(caller).attend(session);
      try {
        // A session that begins to listen may have missed a wake.
        const offered = (): Wake | undefined => openOffer(session);
        const next = wakes.next(session, { wait: millis(waitMs), signal, offered });
        parts.nudge?.();
        return await next;
      } finally {
        leave();
      }
    },
    assignment: async (session, waitMs, caller) => {
      const { signal } = caller;
      const granted = await apiOf(caller).assignment({ session, wait: millis(waitMs), signal });
      return handed(granted);
    },
    claim: async (request, caller) => {
      const { session, priority, key, waitMs } = request;
      const { signal } = caller;
      const run = request.run === undefined ? undefined : (await findRun(scheduler, request.run)).manifest.id;
      const of = run ?? (request.task === undefined ? undefined : (await findRun(scheduler)).manifest.id);
      const granted = await apiOf(caller).claim({
        session,
        wait: millis(waitMs),
        signal,
        ...(of !== undefined && { run: of }),
        ...(request.task !== undefined && { task: taskId(request.task) }),
        ...(priority !== undefined && { priority }),
        ...(key !== undefined && { key }),
      });
      return handed(granted);
    },
    start: async (request, caller) => leaseReply(await report(request, { kind: "start" }, caller)),
    heartbeat: async (request, caller) => leaseReply(await report(request, { kind: "heartbeat" }, caller)),
    progress: async (request, caller) =>
      leaseReply(await report(request, { kind: "progress", note: request.note }, caller)),
    complete: async (request, caller) => {
      const { summary, fence } = request;
      const outcome = {
        kind: "success",
        durationMs: outFor(request),
        ...(summary !== undefined && { summary }),
      } as const;
      return settledReply(await report(request, { kind: "complete", outcome }, caller), fence);
    },
    fail: async (request, caller) => {
      const outcome = failureOf(request, outFor(request));
      return settledReply(await report(request, { kind: "fail", outcome }, caller), request.fence);
    },
    release: async (request, caller) => {
      const why = request.why ?? `handed back by ${caller.by}`;
      return settledReply(await report(request, { kind: "release", why }, caller), request.fence);
    },
  };

  /** With a name that another session has, two sessions would be one. */
  function freshSuffix(agent: string): string {
    for (let tries = 1; ; tries++) {
      const suffix = tries <= TRIES_MAX ? secrets.suffix() : `${secrets.suffix()}-${tries}`;
      if (!engine.world.sessions.has(workerId(`${agent}-${suffix}`))) return suffix;
    }
  }

  /** The task that is kept for the session now, and was not claimed. */
  function openOffer(session: string): Wake | undefined {
    const profile = engine.world.sessions.get(workerId(session))?.profile;
    if (profile === undefined) return undefined;
    for (const { run, task } of engine.pools.line(profile.pool).ready.offeredTo(profile.id)) {
      const { until } = task.offer ?? {};
      if (until !== undefined && until > clock.now())
        return wakeOf({ run, task, until, reason: "offered", why: parts.wakeReason });
    }
    return undefined;
  }

  function outFor({ run, task }: LeaseRequest): Millis {
    const found = engine.world.findRun(runId(run));
    const no = found?.graph.find(taskId(task));
    const status = no === undefined ? undefined : found?.tasks[no]?.status;
    return millis(status !== undefined && isHeld(status) ? Math.max(0, clock.now() - status.since) : 0);
  }
}

const leaseProofOf = ({ run, task, fence, token }: LeaseRequest): LeaseProof => ({
  run: runId(run),
  task: taskId(task),
  fence,
  token,
});

function profileOf(request: JoinRequest, { sessionTtl }: WorkParts, suffix: string): SessionProfile {
  const { agent, workspace, channel, capabilities, slots, ttlMs } = request;
  return {
    id: workerId(request.session ?? `${agent}-${suffix}`),
    agent,
    pool: request.pool ?? agent,
    ...(workspace !== undefined && { workspace }),
    ...(channel !== undefined && { channel }),
    capabilities,
    slots,
    ttl: ttlMs === undefined ? (sessionTtl ?? SESSION_TTL) : millis(ttlMs),
  };
}

function sessionReply({ scheduler }: Parts, session: Session): SessionReply {
  const { engine } = scheduler;
  const { id, agent, pool, workspace, channel, capabilities, slots, ttl } = session.profile;
  const held = [...engine.pools.line(pool).held()].filter(({ worker }) => worker === id);
  return {
    session: id,
    agent,
    pool,
    mode: engine.modeOf(pool),
    ...(workspace !== undefined && { workspace }),
    ...(channel !== undefined && { channel }),
    capabilities,
    slots,
    ttl_ms: ttl,
    state: held.length >= slots && session.state === "idle" ? "busy" : session.state,
    seen_at: isoOf(engine.api.seenAt(session)),
    holds: held.flatMap(({ run, task }) => {
      if (!isHeld(task.status)) return [];
      const { lease, stopping } = task.status;
      const stop = stopping === undefined ? {} : { stop: stopping.kind };
      return [
        { run: run.manifest.id, task: task.spec.id, fence: lease.fence, deadline: isoOf(lease.deadline), ...stop },
      ];
    }),
  };
}

/** A session says what kind of failure it was; the same table decides for every worker what that means. */
function failureOf({ kind, code, message, resetMs }: FailRequest, durationMs: Millis): Failure {
  const said = message === undefined ? {} : { message };
  switch (kind) {
    case "exit":
      return { kind, code: code === 0 ? 1 : code, durationMs, ...said };
    case "signal":
      return { kind, signal: message ?? "SIGKILL", durationMs };
    case "timeout":
      return { kind, limit: "hard", durationMs };
    case "spawn":
      return { kind, message: message ?? "it could not be started", durationMs };
    case "verify":
      return { kind, code, durationMs };
    case "rate-limit":
      return { kind, durationMs, ...(resetMs !== undefined && { resetMs: millis(resetMs) }) };
    default:
      return { kind, durationMs, ...said };
  }
}
