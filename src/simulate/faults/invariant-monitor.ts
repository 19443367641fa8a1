/**
 * Sees everything that is written and every answer, and checks them against each other and against the laws. It is the
 * only part of the simulation that may say that the program is wrong.
 */

import { UserError } from "../../domain/errors.ts";
import { type Event, isTaskEvent } from "../../domain/event.ts";
import type { RunId } from "../../domain/ids.ts";
import type { LeaseProof } from "../../domain/lease.ts";
import type { RunNo } from "../../domain/run.ts";
import type { SessionProfile } from "../../domain/sessions/session.ts";
import type { Instant } from "../../domain/time.ts";
import type { LeaseReport, LeaseReportResult } from "../../engine/sessions/session-reports.ts";
import { UNWRITTEN_MAX } from "../../engine/turn/recorder.ts";
import type { Batch, RequestKind } from "../../store/store.ts";
import { HistoryChecker } from "../history/checker.ts";
import { isEnded, isHeld, isWorking, type SeenRun, type SeenTask, type SubmittedPlan } from "../history/seen.ts";
import { rowLaws } from "./row-laws.ts";
import { CAPACITY } from "./seed/plans.ts";
import type { SimulatedGrant } from "./world/grant.ts";
import type { SimulatedScheduler } from "./world/scheduler.ts";

export interface InvariantMonitorDeps {
  readonly trace: (line: string) => void;
  /** Whether the scheduler of this epoch may just have given sessions more time, because their calls could not reach it. */
  readonly forgives: (epoch: number) => boolean;
  /** The true time. */
  readonly now: () => Instant;
}

/** How a claim ended, in the words of the ledger. */
const END_WORDS: Readonly<Record<"complete" | "fail" | "release", ReadonlySet<string>>> = {
  complete: new Set(["verifying", "succeeded", "cancelled"]),
  fail: new Set(["failed", "retried", "parked", "cancelled", "expired"]),
  release: new Set(["released", "cancelled"]),
};

/** How many batches may be written before the first is acknowledged: while that happens, the next ones are at the store. */
const BATCHES_OUT = UNWRITTEN_MAX + 1;

export class InvariantMonitor {
  readonly checker: HistoryChecker;
  readonly #deps: InvariantMonitorDeps;
  readonly #plans = new Map<RunNo, SubmittedPlan>();
  readonly #runs = new Map<RunId, RunNo>();
  /** How many batches were written, and in which of them each session last left. */
  #batches = 0;
  readonly #leftIn = new Map<string, number>();
  /** Which worker was given each claim, and how the claim ended. */
  readonly #claims = new Map<string, { readonly worker: string; end: string | undefined }>();
  readonly #begun = new Set<string>();
  /** For each task, its attempts that succeeded on this machine. */
  readonly #successes = new Map<SeenTask, string[]>();
  readonly #grants = new Map<string, string>();
  readonly #accepted = new Set<string>();
  readonly #asked = new Set<string>();
  /** The epoch of the last writer. */
  #epoch = 0;
  readonly violations: string[] = [];
  /** How long each task waited until it was given out. */
  readonly waits: number[] = [];
  events = 0;
  claims = 0;
  /** When a task last changed. */
  movedAt: Instant = 0 as Instant;

  constructor(deps: InvariantMonitorDeps) {
    this.#deps = deps;
    this.checker = new HistoryChecker({
      planOf: (run) => this.#plans.get(run),
      capacity: CAPACITY,
      seesRenewals: true,
    });
  }

  violate(law: string): void {
    this.#deps.trace(`BROKEN: ${law}`);
    this.violations.push(law);
  }

  run(id: RunId): SeenRun | undefined {
    const no = this.#runs.get(id);
    return no === undefined ? undefined : this.checker.runs.get(no);
  }

  /** The store has the batch. */
  written(batch: Batch): void {
    for (const { run, manifest, specs } of batch.submitted) {
      if (this.#runs.has(manifest.id)) this.violate(`${manifest.id} was submitted twice`);
      this.#plans.set(run, { manifest, specs });
      this.#runs.set(manifest.id, run);
    }
    const { checker } = this;
    this.#epoch = batch.epoch;
    this.#batches++;
    for (const event of batch.events) if (event.kind === "session_left") this.#leftIn.set(event.session, this.#batches);
    checker.forgives = batch.events.some(({ kind }) => kind === "run_reopened") || this.#deps.forgives(batch.epoch);
    for (const event of batch.events) this.#see(event);
    for (const { row } of batch.tasks) {
      for (const law of rowLaws(row, checker.task(row.run, row.task))) this.violate(law);
    }
    for (const law of checker.broken.splice(0)) this.violate(law);
  }

  submitted(id: RunId): void {
    if (this.run(id) === undefined) this.violate(`${id} was acknowledged, and is not in the ledger`);
  }

  /**
   * A scheduler that does not know yet that it was replaced may still say so of a session it knew, which changes nothing. And a session that was
   * let in, or let in again, while the disk took longer than the session's span may be gone before it is told.
   */
  joined({ id }: SessionProfile, epoch: number): void {
    const left = this.#leftIn.get(id);
    const hasJustLeft = left !== undefined && left > this.#batches - BATCHES_OUT;
    if (epoch >= this.#epoch && !this.checker.sessions.has(id) && !hasJustLeft)
      this.violate(`session ${id} was let in, and is not in the ledger`);
  }

  /** No claim is begun twice, and no claim is begun that is not in the ledger. */
  begun(attempt: Begun, isStray: boolean): void {
    if (attempt.verification !== undefined) return this.#verified(attempt, isStray);
    const name = claimName(attempt);
    if (this.#begun.has(name)) this.violate(`${name} was begun twice`);
    this.#begun.add(name);
    const found = this.#taskOf(attempt);
    if (!isStray && !this.#claims.has(name)) this.violate(`${name} was begun, and its claim is not in the ledger`);
    const done =
      isStray || found === undefined ? undefined : this.#successes.get(found)?.find((each) => this.#claims.has(each));
    if (done !== undefined) this.violate(`${name} was begun, and ${done} has done it already`);
  }

  /** An acceptance command runs only where the ledger says that the work is done, and each run of it happens once. */
  #verified(attempt: Begun, isStray: boolean): void {
    const name = `${claimName(attempt)}/v${attempt.verification}`;
    if (this.#begun.has(name)) this.violate(`${name} was begun twice`);
    this.#begun.add(name);
    const found = this.#taskOf(attempt);
    const isSo = found?.state === "verifying" && found.attempt === attempt.fence;
    if (!isStray && !isSo) this.violate(`${name} was begun, and the ledger says that it is ${found?.state}`);
  }

  /** The scheduler that claimed the task hears of the success, sooner or later. */
  succeeded(attempt: Begun): void {
    const found = this.#taskOf(attempt);
    // Work with an acceptance command may have to be done again.
    const isDone = found?.spec.verify === undefined || attempt.verification !== undefined;
    if (found !== undefined && isDone)
      this.#successes.set(found, [...(this.#successes.get(found) ?? []), claimName(attempt)]);
  }

  /** A success that no scheduler had heard of is lost with the machine: the work is done again. */
  restarted(): void {
    this.#successes.clear();
  }

  granted(grant: SimulatedGrant, session: string, key: string | undefined): void {
    const name = claimName(grant);
    const claim = this.#claims.get(name);
    this.#deps.trace(`granted ${name} to ${session}`);
    if (claim === undefined) return this.violate(`${session} was given ${name}, which is not in the ledger`);
    if (claim.worker !== session) this.violate(`${session} was given ${name}, which ${claim.worker} has`);
    if (key === undefined) return;
    const before = this.#grants.get(`${session} ${key}`);
    if (before !== undefined && before !== name)
      this.violate(`${session} was given ${before} and ${name} for the same claim`);
    this.#grants.set(`${session} ${key}`, name);
  }

  /** Whether the ledger says that the holder has to stop. */
  isStopping(grant: Omit<LeaseProof, "token">): boolean {
    const task = this.#taskOf(grant);
    return task !== undefined && isHeld(task) && task.attempt === grant.fence && task.stopping;
  }

  heard(
    grant: LeaseProof,
    report: LeaseReport,
    result: LeaseReportResult,
    when: { wasStopping: boolean; epoch: number },
  ): void {
    const name = claimName(grant);
    const end = this.#claims.get(name)?.end;
    this.#deps.trace(`heard ${report.kind} of ${name}${result.repeated ? " again" : ""}`);
    if (report.kind === "complete" || report.kind === "fail" || report.kind === "release") {
      if (end === undefined || !END_WORDS[report.kind].has(end)) {
        this.violate(`${report.kind} of ${name} was accepted, and the ledger says ${end ?? "nothing"}`);
      }
      if (result.repeated) return;
      if (this.#accepted.has(name)) this.violate(`the end of ${name} was accepted twice`);
      this.#accepted.add(name);
      return;
    }
    const { held } = result;
    if (held === undefined) return this.violate(`${report.kind} of ${name} was accepted, and no worker holds it`);
    // A scheduler that does not know yet that it was replaced may answer from what it knew, as long as that changes nothing.
    if (when.epoch !== this.#epoch) return;
    if (when.wasStopping && held.stopping === undefined && end === undefined)
      this.violate(`the holder of ${name} was not told to stop`);
    const task = this.#taskOf(grant);
    const deadline = task?.attempt === grant.fence ? task.deadline : undefined;
    if (deadline !== undefined && held.lease.deadline > deadline && end === undefined) {
      this.violate(`${name} was promised until ${held.lease.deadline}, and the store says ${deadline}`);
    }
  }

  /** A holder that reports under the current claim before its deadline must be heard. */
  refused(grant: LeaseProof, { epoch, clock }: Pick<SimulatedScheduler, "epoch" | "clock">, error: unknown): void {
    const task = this.#taskOf(grant);
    const isLost = error instanceof UserError && error.code === "LEASE_LOST";
    if (!isLost || epoch !== this.#epoch || task?.deadline === undefined) return;
    if (task.attempt === grant.fence && isWorking(task) && clock.now() <= task.deadline) {
      this.violate(
        `the holder of ${claimName(grant)} was refused ${task.deadline - clock.now()} ms before its lease ran out`,
      );
    }
  }

  /** A request under a name of its own was acknowledged. */
  done(by: string): void {
    if (!this.#asked.has(by)) this.violate(`what ${by} asked for was acknowledged, and is not in the ledger`);
  }

  asked(kind: RequestKind, id: RunId, task: string | undefined): void {
    if (kind !== "cancel") return;
    const run = this.run(id);
    if (run === undefined || run.state === "finished") return;
    if (task === undefined) {
      if (!run.cancelling) this.violate(`the cancelling of ${id} was acknowledged, and is not in the ledger`);
      return;
    }
    const found = run.byId.get(task);
    if (found !== undefined && !isEnded(found) && !found.cancelAsked) {
      this.violate(`the cancelling of ${id}/${task} was acknowledged, and it is ${found.state}`);
    }
  }

  #see(event: Event): void {
    this.events++;
    if (event.kind !== "lease_renewed") this.#deps.trace(lineOf(event));
    if ("asked" in event) this.#asked.add(event.asked.by);
    if (isTaskEvent(event)) this.#follow(event);
    this.checker.add(event);
  }

  #follow(event: Extract<Event, { readonly task: number }>): void {
    const run = this.checker.runs.get(event.run);
    const spec = run?.tasks[event.task]?.spec;
    if (run === undefined || spec === undefined) return;
    const name = `${run.manifest.id}/${spec.id}/${event.attempt}`;
    if (event.kind === "claimed") {
      if (this.#claims.has(name)) this.violate(`${name} was claimed twice`);
      this.#claims.set(name, { worker: event.worker, end: undefined });
      this.waits.push(event.evidence.waitedMs);
      this.claims++;
    }
    if (ENDS.has(event.kind)) {
      const claim = this.#claims.get(name);
      if (claim !== undefined) claim.end ??= event.kind;
    }
    if (event.kind !== "lease_renewed") this.movedAt = this.#deps.now();
  }

  #taskOf({ run, task }: Pick<LeaseProof, "run" | "task">): SeenTask | undefined {
    return this.run(run)?.byId.get(task);
  }
}

/** The events that end a worker's hold on its claim. */
const ENDS: ReadonlySet<string> = new Set([
  "verifying",
  "succeeded",
  "failed",
  "retried",
  "expired",
  "released",
  "parked",
  "cancelled",
]);

/** An attempt that an executor is asked to begin. */
type Begun = Pick<LeaseProof, "run" | "task" | "fence"> & { readonly verification?: number };

const claimName = ({ run, task, fence }: Pick<LeaseProof, "run" | "task" | "fence">): string =>
  `${run}/${task}/${fence}`;

function lineOf(event: Event): string {
  const place = "task" in event ? ` ${event.run}/${event.task}#${event.attempt}` : event.run > 0 ? ` ${event.run}` : "";
  const worker = "worker" in event ? ` ${event.worker}` : "session" in event ? ` ${event.session}` : "";
  const outcome = "outcome" in event && typeof event.outcome === "object" ? ` ${event.outcome.kind}` : "";
  return `#${event.seq} ${event.kind}${place}${worker}${outcome} @${event.at}`;
}
