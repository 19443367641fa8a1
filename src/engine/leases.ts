/** What the holder of a lease reports from outside, and what becomes of it. Every report proves the lease with its fence and its token. */
import { jitterOf, rule } from "../decide/rule.ts";
import type { LifeSigns } from "../decide/timeouts.ts";
import { UserError } from "../domain/errors.ts";
import { isExpired } from "../domain/lease.ts";
import type { Outcome } from "../domain/outcome.ts";
import type { Run } from "../domain/run.ts";
import { type Held, isHeld, type Task, type TaskState } from "../domain/task.ts";
import { type Instant, later, type Millis } from "../domain/time.ts";
import type { World } from "../domain/world.ts";
import { parkIfPoison, type Turn } from "./settle.ts";
import type { Tokens } from "./tokens.ts";

/** A lease, and the proof that it is the caller's. */
export interface Proof {
  readonly run: Run;
  readonly task: Task;
  readonly fence: number;
  readonly token: string;
}

/** What a holder can say. */
export type Word =
  | { readonly kind: "start" }
  | { readonly kind: "heartbeat" }
  | { readonly kind: "progress"; readonly note: string }
  | { readonly kind: "complete"; readonly outcome: Outcome }
  | { readonly kind: "fail"; readonly outcome: Outcome }
  | { readonly kind: "release"; readonly why: string };

/** What the word has led to: the lease as it is now, or that there is none any more. */
export interface Heard {
  readonly run: Run;
  readonly task: Task;
  readonly held: Held | undefined;
  /** The same word had ended the lease before. */
  readonly repeated: boolean;
}

export interface LeasesDeps {
  readonly world: World;
  readonly tokens: Tokens;
  /** The deadline has moved. */
  readonly watch: (run: Run, task: Task) => void;
  readonly ttl: Millis;
}

/** What a word leads to that is for ever: it need not be remembered. */
const STATE_AFTER: Partial<Record<Word["kind"], TaskState>> = { complete: "succeeded", fail: "failed" };
/** Other ends that are remembered, so that a word said twice is heard once. */
const ENDS_MAX = 10_000;

export class Leases {
  readonly #deps: LeasesDeps;
  readonly #signs = new Map<Task, { progressAt: Instant; silenceReported: boolean }>();
  readonly #ends = new Map<Task, { readonly fence: number; readonly kind: Word["kind"] }>();

  constructor(deps: LeasesDeps) {
    this.#deps = deps;
  }

  /** When the holder last said something about how it goes. */
  signs(task: Task): LifeSigns | undefined {
    return isHeld(task.status) ? this.#signs.get(task) : undefined;
  }

  silenceReported(task: Task): void {
    const signs = this.#signs.get(task);
    if (signs !== undefined) signs.silenceReported = true;
  }

  /** A task was given out. */
  begin(task: Task, now: Instant): void {
    this.#signs.set(task, { progressAt: now, silenceReported: false });
  }

  /** How long the holder of this lease keeps it without a sign of life. */
  ttlOf({ lease }: Held): Millis {
    return this.#deps.world.sessions.get(lease.worker)?.profile.ttl ?? this.#deps.ttl;
  }

  hear(turn: Turn, proof: Proof, word: Word): Heard {
    const { run, task, fence } = proof;
    this.#verify(turn, proof, word);
    const { status } = task;
    // A lease that has run out is over, whether or not anybody has looked at it since: that is done in this turn, after the inputs.
    if (!isHeld(status) || status.lease.fence !== fence || isExpired(status.lease, turn.now)) {
      return this.#late(turn, proof, word);
    }
    switch (word.kind) {
      case "start":
      case "heartbeat":
        return this.#goOn(turn, proof);
      case "progress":
        turn.journal.ofTask(run, task, { kind: "noted", note: word.note }, turn.now);
        this.begin(task, turn.now);
        return this.#goOn(turn, proof);
      case "release":
        // What somebody asked to be cancelled is not given out again.
        if (status.stopping?.kind === "cancelled") {
          turn.journal.ofTask(run, task, { kind: "cancelled", asked: status.stopping.asked }, turn.now);
        } else turn.journal.ofTask(run, task, { kind: "released", why: word.why }, turn.now);
        return this.#end(proof, word);
      case "complete":
      case "fail":
        this.#settle(turn, proof, status, word.outcome);
        return this.#end(proof, word);
    }
  }

  /** A run is gone: nothing of it is to be remembered. */
  forget(run: Run): void {
    for (const task of run.tasks) {
      this.#signs.delete(task);
      this.#ends.delete(task);
    }
  }

  #verify(turn: Turn, { run, task, fence, token }: Proof, { kind }: Word): void {
    if (this.#deps.tokens.isGenuine(run, task, fence, token)) return;
    turn.journal.ofTask(run, task, { kind: "late_report_refused", fence, reported: kind }, turn.now);
    throw new UserError("TOKEN_WRONG", `The token is not the one of ${task.spec.id}, claim ${fence}`);
  }

  /** The first sign of life says that the work has begun; each one moves the deadline, unless the work is to be cancelled. */
  #goOn(turn: Turn, { run, task }: Proof): Heard {
    const { now, journal } = turn;
    if (task.status.state === "claimed") journal.ofTask(run, task, { kind: "started" }, now);
    // Held since before this scheduler began: nothing is known of its silence until then.
    if (!this.#signs.has(task)) this.begin(task, now);
    const held = task.status as Held;
    const deadline = later(now, this.ttlOf(held));
    if (held.stopping?.kind !== "cancelled" && deadline > held.lease.deadline) {
      journal.ofTask(run, task, { kind: "lease_renewed", deadline }, now);
    }
    this.#deps.watch(run, task);
    return { run, task, held: task.status as Held, repeated: false };
  }

  #settle({ journal, now }: Turn, { run, task }: Proof, status: Held, outcome: Outcome): void {
    const { stopping } = status;
    // What somebody asked to be cancelled is cancelled, however well it went meanwhile.
    if (stopping?.kind === "cancelled") {
      return journal.ofTask(run, task, { kind: "cancelled", asked: stopping.asked, outcome }, now);
    }
    const jitter = jitterOf(run.manifest.seed, task.no, task.attempt);
    journal.ofTask(run, task, rule(task, outcome, now, jitter), now);
    parkIfPoison({ journal, now }, run, task);
  }

  #end({ run, task, fence }: Proof, { kind }: Word): Heard {
    this.#signs.delete(task);
    this.#ends.delete(task);
    this.#ends.set(task, { fence, kind });
    if (this.#ends.size > ENDS_MAX) this.#ends.delete(this.#ends.keys().next().value as Task);
    return { run, task, held: undefined, repeated: false };
  }

  /** The same word twice is one word. Anything else that comes too late is refused, and leaves a trace. */
  #late(turn: Turn, { run, task, fence }: Proof, { kind }: Word): Heard {
    const end = this.#ends.get(task);
    const isSame = end?.fence === fence && end.kind === kind;
    if (isSame || (task.attempt === fence && task.status.state === STATE_AFTER[kind]))
      return { run, task, held: undefined, repeated: true };
    turn.journal.ofTask(run, task, { kind: "late_report_refused", fence, reported: kind }, turn.now);
    // The refusal is written down before it is told.
    throw new LateReport(run, task, fence);
  }
}

/** Thrown after its trace was written: the turn goes on, and the caller is told once that is durable. */
class LateReport extends UserError {
  constructor(run: Run, task: Task, fence: number) {
    const isOwn = isHeld(task.status) && task.attempt === fence;
    const held = isOwn ? "its time has run out" : `claim ${task.attempt} has it now`;
    const now = isHeld(task.status) ? held : `it is ${task.status.state}`;
    super("LEASE_LOST", `Claim ${fence} of ${task.spec.id} in run ${run.manifest.id} is over: ${now}`);
  }
}
