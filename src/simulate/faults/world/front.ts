/** What callers can ask of a scheduler, and the moment of each answer: from that moment on the answer must stay true. */

import { UserError } from "../../../domain/errors.ts";
import type { RunId, TaskId } from "../../../domain/ids.ts";
import type { LeaseProof } from "../../../domain/lease.ts";
import type { Run, RunManifest } from "../../../domain/run.ts";
import type { SessionProfile } from "../../../domain/sessions/session.ts";
import type { TaskSpec } from "../../../domain/spec.ts";
import type { Millis } from "../../../domain/time.ts";
import type { PauseScope } from "../../../domain/waiting/pause.ts";
import type { LeaseGrant } from "../../../engine/sessions/claim.ts";
import type { LeaseReport, LeaseReportResult } from "../../../engine/sessions/session-reports.ts";
import type { RequestKind } from "../../../store/store.ts";
import type { InvariantMonitor } from "../invariant-monitor.ts";
import type { SimulatedGrant } from "./grant.ts";
import type { SimulatedScheduler } from "./scheduler.ts";

export interface Asking {
  readonly session: string;
  readonly wait: Millis;
  readonly key?: string;
}

export class Front {
  readonly #monitor: InvariantMonitor;

  constructor(monitor: InvariantMonitor) {
    this.#monitor = monitor;
  }

  async submit(at: SimulatedScheduler, key: string, manifest: RunManifest, specs: readonly TaskSpec[]): Promise<void> {
    const { api } = at.engine;
    const kept = `submit/${key}`;
    const known = at.submits.get(kept);
    if (known === undefined && (await api.recall(kept)) !== undefined) return this.#monitor.submitted(manifest.id);
    const submitted = at.submits.get(kept) ?? this.#submit(at, kept, manifest, specs);
    await submitted;
    this.#monitor.submitted(manifest.id);
  }

  async join(at: SimulatedScheduler, profile: SessionProfile): Promise<void> {
    await at.engine.api.join(profile);
    this.#monitor.joined(profile, at.epoch);
  }

  async beat(at: SimulatedScheduler, session: string): Promise<void> {
    await at.engine.api.beat(session, undefined);
  }

  async leave(at: SimulatedScheduler, session: string): Promise<void> {
    await at.engine.api.leave(session, "it left");
  }

  async claim(at: SimulatedScheduler, { session, key, wait }: Asking): Promise<SimulatedGrant | undefined> {
    const granted = await at.engine.api.claim({ session, wait, ...(key !== undefined && { key }) });
    return granted && this.#given(granted, session, key);
  }

  async assignment(at: SimulatedScheduler, session: string, wait: Millis): Promise<SimulatedGrant | undefined> {
    const granted = await at.engine.api.assignment({ session, wait });
    return granted && this.#given(granted, session, undefined);
  }

  async report(at: SimulatedScheduler, grant: LeaseProof, report: LeaseReport): Promise<{ readonly stops: boolean }> {
    const wasStopping = this.#monitor.isStopping(grant);
    const result: LeaseReportResult = await at.engine.api.report(grant, report).catch((error: unknown) => {
      this.#monitor.refused(grant, at, error);
      throw error;
    });
    this.#monitor.heard(grant, report, result, { wasStopping, epoch: at.epoch });
    return { stops: result.held?.stopping !== undefined };
  }

  async hold(at: SimulatedScheduler, scope: PauseScope, by: string): Promise<void> {
    await at.engine.api.hold(scope, { by });
    this.#monitor.done(by);
  }

  async drain(at: SimulatedScheduler, scope: PauseScope, by: string, wait: Millis): Promise<void> {
    await at.engine.api.drain(scope, { by }, wait);
    this.#monitor.done(by);
  }

  async letGo(at: SimulatedScheduler, scope: PauseScope, by: string): Promise<void> {
    if (await at.engine.api.letGo(scope, { by })) this.#monitor.done(by);
  }

  async edit(at: SimulatedScheduler, run: RunId, task: TaskId, changes: Partial<TaskSpec>, by: string): Promise<void> {
    const found = at.engine.world.findRun(run);
    const no = found?.graph.find(task);
    if (found === undefined || no === undefined) return;
    await at.engine.api.edit(found, found.tasks[no] as (typeof found.tasks)[number], changes, { by });
    this.#monitor.done(by);
  }

  async ask(
    at: SimulatedScheduler,
    kind: RequestKind,
    run: RunId,
    task: TaskId | undefined,
    by: string,
  ): Promise<void> {
    if (at.engine.world.findRun(run) === undefined) throw new UserError("RUN_UNKNOWN", `There is no run "${run}"`);
    const asked = { kind, run, by, at: at.clock.now(), ...(task !== undefined && { task }) };
    await at.store.request(asked);
    await at.engine.takeRequests();
    this.#monitor.asked(kind, run, task);
  }

  async #submit(at: SimulatedScheduler, kept: string, manifest: RunManifest, specs: readonly TaskSpec[]): Promise<Run> {
    const stamped = { ...manifest, submittedAt: at.clock.now() };
    const made = at.engine.submit(stamped, specs, kept);
    at.submits.set(kept, made);
    try {
      return await made;
    } finally {
      at.submits.delete(kept);
    }
  }

  #given({ run, task, fence, token, ttl }: LeaseGrant, session: string, key: string | undefined): SimulatedGrant {
    const grant = { run: run.manifest.id, task: task.spec.id, fence, token, ttl };
    this.#monitor.granted(grant, session, key);
    return grant;
  }
}
