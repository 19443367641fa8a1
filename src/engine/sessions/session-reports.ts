/** The reports of sessions on their leases. Every report proves the lease with its fence and its token. */
import { UserError } from "../../domain/errors.ts";
import type { Outcome } from "../../domain/outcome.ts";
import type { Run } from "../../domain/run.ts";
import { cancellerOf, type Held, isWorking, type Task, type TaskState } from "../../domain/task.ts";
import { later } from "../../domain/time.ts";
import type { Turn } from "../turn/turn.ts";
import type { Leases } from "../work/leases.ts";
import type { Signs } from "../work/signs.ts";
import type { LeaseGrant } from "./claim.ts";
import type { Refusals } from "./refusals.ts";
import type { Tokens } from "./tokens.ts";

/** The proof that came with a report, with the run and the task that it names. */
type ResolvedLeaseProof = Pick<LeaseGrant, "run" | "task" | "fence" | "token">;

/** What a holder can report. */
export type LeaseReport =
  | { readonly kind: "start" }
  | { readonly kind: "heartbeat" }
  | { readonly kind: "progress"; readonly note: string }
  | { readonly kind: "complete"; readonly outcome: Outcome }
  | { readonly kind: "fail"; readonly outcome: Outcome }
  | { readonly kind: "release"; readonly why: string };

/** The result of a report: the lease as it is now, or that it has ended. */
export interface LeaseReportResult {
  readonly run: Run;
  readonly task: Task;
  readonly held: Held | undefined;
  /** The same report had ended the lease before. */
  readonly repeated: boolean;
}

export interface SessionReportsDeps {
  readonly leases: Leases;
  readonly signs: Signs;
  readonly tokens: Tokens;
  readonly refusals: Refusals;
}

/** Results that last: these reports need not be remembered. */
const STATES_AFTER: Partial<Record<LeaseReport["kind"], readonly TaskState[]>> = {
  complete: ["verifying", "succeeded"],
  fail: ["failed"],
};
/** Other ends are remembered, so that a repeated report counts once. */
const ENDS_MAX = 10_000;

export class SessionReports {
  readonly #deps: SessionReportsDeps;
  readonly #ends = new Map<Task, { readonly fence: number; readonly kind: LeaseReport["kind"] }>();

  constructor(deps: SessionReportsDeps) {
    this.#deps = deps;
  }

  accept(turn: Turn, proof: ResolvedLeaseProof, report: LeaseReport): LeaseReportResult {
    const { leases, signs, refusals } = this.#deps;
    const { run, task, fence } = proof;
    this.#verify(turn, proof, report);
    // An expired lease is over, even before the sweep has seen it: the sweep comes later in this turn.
    if (!leases.isLive(task, fence, turn.now)) return this.#late(turn, proof, report);
    switch (report.kind) {
      case "start":
      case "heartbeat":
        return this.#goOn(turn, proof);
      case "progress":
        leases.note(turn, run, task, report.note);
        signs.progressed(task, turn.now);
        return this.#goOn(turn, proof);
      case "release":
        leases.release(turn, run, task, report.why);
        return this.#end(proof, report);
      case "complete":
      case "fail":
        if (report.outcome.kind === "refused" && isWorking(task.status)) refusals.note(task, task.status.lease.worker);
        leases.settle(turn, run, task, report.outcome);
        return this.#end(proof, report);
    }
  }

  /** A run is gone: its reports are forgotten. */
  forget(run: Run): void {
    for (const task of run.tasks) this.#ends.delete(task);
  }

  #verify(turn: Turn, { run, task, fence, token }: ResolvedLeaseProof, { kind }: LeaseReport): void {
    if (this.#deps.tokens.isGenuine(run, task, fence, token)) return;
    this.#deps.leases.refuse(turn, run, task, fence, kind);
    throw new UserError("TOKEN_WRONG", `The token is not the one of ${task.spec.id}, claim ${fence}`);
  }

  /** The first sign of life says that the work has begun; each one moves the deadline, unless the work is to be cancelled. */
  #goOn(turn: Turn, { run, task }: ResolvedLeaseProof): LeaseReportResult {
    const { leases, signs } = this.#deps;
    leases.begin(turn, run, task);
    // Held since before this scheduler began: its silence is counted from now.
    if (signs.of(task) === undefined) signs.progressed(task, turn.now);
    const held = task.status as Held;
    if (cancellerOf(held) === undefined) leases.renew(turn, run, task, later(turn.now, leases.ttlOf(held)));
    return { run, task, held: task.status as Held, repeated: false };
  }

  #end({ run, task, fence }: ResolvedLeaseProof, { kind }: LeaseReport): LeaseReportResult {
    this.#ends.delete(task);
    this.#ends.set(task, { fence, kind });
    if (this.#ends.size > ENDS_MAX) this.#ends.delete(this.#ends.keys().next().value as Task);
    return { run, task, held: undefined, repeated: false };
  }

  /** The same report twice counts once. Any other late report is refused and recorded. */
  #late(turn: Turn, { run, task, fence }: ResolvedLeaseProof, { kind }: LeaseReport): LeaseReportResult {
    const end = this.#ends.get(task);
    const isSame = end?.fence === fence && end.kind === kind;
    if (isSame || (task.attempt === fence && STATES_AFTER[kind]?.includes(task.status.state)))
      return { run, task, held: undefined, repeated: true };
    this.#deps.leases.refuse(turn, run, task, fence, kind);
    // The refusal is recorded before it is answered.
    throw new LateReport(run, task, fence);
  }
}

/** Thrown after the refusal was recorded: the turn goes on, and the caller is answered when that is durable. */
class LateReport extends UserError {
  constructor(run: Run, task: Task, fence: number) {
    const isOwn = isWorking(task.status) && task.attempt === fence;
    const held = isOwn ? "its time has run out" : `claim ${task.attempt} has it now`;
    const now = isWorking(task.status) ? held : `it is ${task.status.state}`;
    super("LEASE_LOST", `Claim ${fence} of ${task.spec.id} in run ${run.manifest.id} is over: ${now}`);
  }
}
