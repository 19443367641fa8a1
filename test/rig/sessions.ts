/** Agents' sessions as a test plays them: they join, claim and report, and are woken by a bell that the test hears. */
import { UserError } from "../../src/domain/errors.ts";
import { workerId } from "../../src/domain/ids.ts";
import type { Run } from "../../src/domain/run.ts";
import { SESSION_TTL, type Session, type SessionProfile } from "../../src/domain/sessions/session.ts";
import type { TaskSpec } from "../../src/domain/spec.ts";
import { millis } from "../../src/domain/time.ts";
import type { Wanted } from "../../src/engine/engine-api.ts";
import type { LeaseGrant } from "../../src/engine/sessions/claim.ts";
import type { LeaseReport, LeaseReportResult } from "../../src/engine/sessions/session-reports.ts";
import type { Pending, Waker, WakeTarget } from "../../src/engine/wake/wake-port.ts";
import type { WakeOptions, WakeScheduler } from "../../src/engine/wake/wake-scheduler.ts";
import { success, task } from "./builders.ts";
import type { Rig } from "./rig.ts";

const POOL = "agents";

/** A task for the sessions of the pool `agents`. */
export const agentTask = (id: string, rest: Parameters<typeof task>[1] = {}): TaskSpec =>
  task(id, { pool: POOL, run: { prompt: `Do ${id}.` }, ...rest });

export const profile = (id: string, rest: Partial<SessionProfile> = {}): SessionProfile => ({
  id: workerId(id),
  agent: "claude",
  pool: POOL,
  capabilities: [],
  slots: 1,
  ttl: SESSION_TTL,
  ...rest,
});

export const join = (rig: Rig, id: string, rest: Partial<SessionProfile> = {}): Promise<Session> =>
  rig.promised(rig.engine.api.join(profile(id, rest)));

type Asking = Partial<Omit<Wanted, "session">>;

export const claim = (rig: Rig, session: string, rest: Asking = {}): Promise<LeaseGrant | undefined> =>
  rig.promised(rig.engine.api.claim({ session, wait: millis(0), ...rest }));

/** What the session is given, by its task; it must be something. */
export async function claimed(rig: Rig, session: string, rest: Asking = {}): Promise<LeaseGrant> {
  const granted = await claim(rig, session, rest);
  if (granted === undefined) throw new Error(`there is nothing for ${session}`);
  return granted;
}

/** A claim that waits; it has begun to when this is kept. */
export async function waiting(
  rig: Rig,
  session: string,
  rest: Asking = {},
): Promise<{ readonly told: Promise<LeaseGrant | undefined>; granted: LeaseGrant | undefined; done: boolean }> {
  const told = rig.engine.api.claim({ session, wait: millis(60_000), ...rest });
  const call = { told, granted: undefined as LeaseGrant | undefined, done: false };
  told.then(
    (granted) => Object.assign(call, { granted, done: true }),
    () => Object.assign(call, { done: true }),
  );
  await rig.clock.settle();
  return call;
}

export const proofOf = ({ run, task: { spec }, fence, token }: LeaseGrant) => ({
  run: run.manifest.id,
  task: spec.id,
  fence,
  token,
});

export const report = (rig: Rig, granted: LeaseGrant, leaseReport: LeaseReport): Promise<LeaseReportResult> =>
  rig.promised(rig.engine.api.report(proofOf(granted), leaseReport));

export const BEAT: LeaseReport = { kind: "heartbeat" };
export const DONE: LeaseReport = { kind: "complete", outcome: success };
export const FAILED: LeaseReport = { kind: "fail", outcome: { kind: "exit", code: 1, durationMs: millis(5) } };
export const BACK: LeaseReport = { kind: "release", why: "not for me" };

/** The code of what it was refused with. */
export const refusal = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => "not refused",
    (error: unknown) => {
      if (error instanceof UserError) return error.code;
      throw error;
    },
  );

/** Wakes are heard here, and answered as the test says. */
export class Bell implements Waker {
  readonly calls: (readonly WakeTarget[])[] = [];
  readonly asked: string[] = [];
  answer: (targets: readonly WakeTarget[]) => Promise<readonly (Error | undefined)[]> = async (targets) =>
    targets.map(() => undefined);
  spawns: (pending: Pending) => Promise<boolean> = async () => true;

  wake(targets: readonly WakeTarget[]): Promise<readonly (Error | undefined)[]> {
    this.calls.push(targets);
    return this.answer(targets);
  }

  readonly spawn = (pending: Pending): Promise<boolean> => {
    this.asked.push(pending.task.spec.id);
    return this.spawns(pending);
  };

  /** Who was woken for what since the last time: `s1: a`. */
  heard(): readonly string[] {
    const heard = this.calls.flat().map((target) => `${target.session}: ${target.task.spec.id}`);
    this.calls.length = 0;
    return heard;
  }
}

export const cycleOf = (rig: Rig, bell: Bell, options: WakeOptions = {}): WakeScheduler =>
  rig.engine.cycle({ waker: bell, spawn: bell.spawn, reaches: () => true, options });

/** How often something was written down about the task. */
export const count = async (rig: Rig, run: Run, id: string, kind: string): Promise<number> =>
  (await rig.eventsOf(run, id)).filter((event) => event.kind === kind).length;
