/**
 * The laws of a history, from its events and plans alone: each broken law is a sentence. The checker shares no code with the reducer or
 * the dispatcher, so that a common mistake would not hide itself.
 */
import {
  type Event,
  isSystemEvent,
  isTaskEvent,
  type RunEvent,
  type SystemEvent,
  type TaskEvent,
} from "../../domain/event.ts";
import type { WorkerId } from "../../domain/ids.ts";
import type { RunNo } from "../../domain/run.ts";
import type { Amounts } from "../../domain/spec.ts";
import { type Pause, scopeKey } from "../../domain/waiting/pause.ts";
import { type Range, Skips } from "../../std/skips.ts";
import { awaitsPerson, checkClaim, type SeenSession } from "./claims.ts";
import { checkEnd } from "./ends.ts";
import { KeyLaws } from "./keys.ts";
import {
  countFromNow,
  isEnded,
  isHeld,
  isOfSession,
  isWorking,
  nameOf,
  type SeenRun,
  type SeenTask,
  type SubmittedPlan,
  seenRun,
} from "./seen.ts";
import { Shared } from "./shared.ts";

export interface HistoryFacts {
  /** The plan of a run, at the first event of the run. */
  readonly planOf: (run: RunNo) => SubmittedPlan | undefined;
  /** What the machine has; without it amounts are not checked. */
  readonly capacity?: Amounts;
  /** Tasks, as `run/task` in numbers, that a person edited, where the plan is known only in its present form. */
  readonly blurred?: ReadonlySet<string>;
  /** Positions of events that were forgotten with their runs. */
  readonly forgotten?: readonly Range[];
  /** Whether renewals are among the events, so that deadlines are known. */
  readonly seesRenewals?: boolean;
}

const NOT_BLURRED: ReadonlySet<string> = new Set();

export class HistoryChecker {
  readonly broken: string[] = [];
  readonly runs = new Map<RunNo, SeenRun>();
  readonly sessions = new Map<WorkerId, SeenSession>();
  readonly pauses = new Map<string, Pause>();
  readonly #facts: HistoryFacts;
  readonly #shared: Shared;
  readonly #keys = new Set<string>();
  readonly #keyLaws = new KeyLaws(this.runs);
  readonly #skips: Skips;
  #seq = 0;
  /** Every session may have been given a whole new span: the scheduler is new, or had slept. */
  forgives = false;

  constructor(facts: HistoryFacts) {
    this.#facts = facts;
    this.#shared = new Shared(facts.capacity ?? {});
    this.#skips = new Skips(facts.forgotten ?? []);
  }

  get seq(): number {
    return this.#seq;
  }

  add(event: Event): void {
    if (event.kind !== "lease_renewed") {
      if (event.seq !== this.#skips.after(this.#seq)) this.#break(event, `follows ${this.#seq}`);
      this.#seq = event.seq;
    }
    this.#shared.hear(event.at);
    if (isSystemEvent(event)) return this.#addSystem(event);
    if (event.kind === "run_submitted") return this.#submit(event.run, event);
    const run = this.runs.get(event.run);
    if (run === undefined) return this.#break(event, `run ${event.run} was never submitted`);
    if (isTaskEvent(event)) this.#addTask(run, event);
    else this.#addRun(run, event);
  }

  /** The task in its present state. */
  task(run: RunNo, no: number): SeenTask | undefined {
    return this.runs.get(run)?.tasks[no];
  }

  /** Every task that has not ended. */
  *unfinished(): Iterable<SeenTask> {
    for (const run of this.runs.values()) for (const task of run.tasks) if (!isEnded(task)) yield task;
  }

  #break(event: Event, law: string): void {
    this.broken.push(`event ${event.seq} (${event.kind}): ${law}`);
  }

  #submit(no: RunNo, event: Event): void {
    const plan = this.#facts.planOf(no);
    if (this.runs.has(no)) return this.#break(event, `run ${no} is submitted a second time`);
    if (plan === undefined) return this.#break(event, `the plan of run ${no} is not known`);
    this.runs.set(no, seenRun(no, plan, this.#facts.blurred ?? NOT_BLURRED));
  }

  #addSystem(event: SystemEvent): void {
    switch (event.kind) {
      case "session_joined":
        return void this.sessions.set(event.profile.id, { profile: event.profile, state: "idle" });
      case "session_changed": {
        const session = this.sessions.get(event.session);
        if (session === undefined) return this.#break(event, `there is no session ${event.session}`);
        session.state = event.state;
        return;
      }
      case "session_left":
        if (!this.sessions.delete(event.session)) this.#break(event, `there is no session ${event.session}`);
        return;
      case "worker_started":
        return;
      case "paused":
        return void this.pauses.set(scopeKey(event.scope), event);
      case "resumed":
        return void this.pauses.delete(scopeKey(event.scope));
      case "drained":
        return;
    }
  }

  #addRun(run: SeenRun, event: RunEvent): void {
    const left = run.tasks.filter((task) => !isEnded(task));
    if (run.state === "finished") this.#break(event, `run ${run.no} has finished`);
    switch (event.kind) {
      case "run_submitted":
        return;
      case "run_reopened":
        run.state = "active";
        return;
      case "run_cancelling":
        run.cancelling = true;
        return;
      case "run_stalled":
        run.state = "stalled";
        if (left.length !== event.remaining) this.#break(event, `${left.length} tasks remain, not ${event.remaining}`);
        if (left.some(isHeld)) this.#break(event, "a worker is at work");
        if ((event.outcome === "waiting") !== left.some(awaitsPerson)) {
          this.#break(event, `its outcome cannot be ${event.outcome}`);
        }
        return;
      case "run_finished":
        run.state = "finished";
        if (left.length > 0) this.#break(event, `${left.length} tasks have not ended: ${left.map(nameOf).join(", ")}`);
        if (event.outcome !== outcomeOf(run)) this.#break(event, `it ${outcomeOf(run)}, not ${event.outcome}`);
        for (const [key, { scope }] of this.pauses) if ("run" in scope && scope.run === run.no) this.pauses.delete(key);
        return;
    }
  }

  #addTask(run: SeenRun, event: TaskEvent): void {
    const task = run.tasks[event.task];
    if (task === undefined) return this.#break(event, `run ${run.no} has no task ${event.task}`);
    const say = (law: string): void => this.#break(event, `${nameOf(task)}: ${law}`);
    if (event.kind !== "lease_renewed") {
      if (event.version !== task.version + 1) say(`version ${event.version} follows ${task.version}`);
      task.version = event.version;
    }
    if (event.kind === "late_report_refused") return;
    if (isEnded(task)) say(`it had ${task.state}`);
    if (event.kind === "claimed") {
      checkClaim(task, event, { shared: this.#shared, sessions: this.sessions, pauses: this.pauses }, say);
      this.#checkKey(event, say);
      this.#keyLaws.claim(task, say);
      this.#shared.take(task, event.worker, event.at, say);
    } else checkEnd(task, event, say);
    if (event.kind === "succeeded") this.#keyLaws.succeed(task, event.outcome, say);
    this.#follow(task, event, say);
  }

  /** The same key for a claim gives the same grant, and so never a second one. */
  #checkKey({ key, worker }: TaskEvent & { readonly kind: "claimed" }, say: (law: string) => void): void {
    if (key === undefined) return;
    const name = `${worker} ${key}`;
    if (this.#keys.has(name)) say(`${worker} is given a second task for its claim "${key}"`);
    this.#keys.add(name);
  }

  #follow(task: SeenTask, event: TaskEvent, say: (law: string) => void): void {
    switch (event.kind) {
      case "claimed":
        task.state = "claimed";
        task.attempt = event.attempt;
        task.worker = event.worker;
        task.deadline = this.#facts.seesRenewals === true ? event.deadline : undefined;
        task.offer = undefined;
        return;
      case "set_back":
        if (event.by <= 0) say("its clock is not behind");
        return countFromNow(task, event.at);
      case "started":
        if (task.state === "verifying") return;
        if (task.state !== "claimed") say(`it starts while it is ${task.state}`);
        task.state = "running";
        return;
      case "verifying":
        if (!isHeld(task)) say(`it is verified while it is ${task.state}`);
        if (task.spec.verify === undefined) say("there is nothing to verify it with");
        if (task.cancelAsked) say("it was asked to be cancelled, and is verified");
        if (isWorking(task)) this.#shared.giveBack(task);
        task.state = "verifying";
        task.worker = event.worker;
        task.deadline = this.#facts.seesRenewals === true ? event.deadline : undefined;
        return;
      case "lease_renewed":
        return this.#renew(task, event, say);
      case "stopping":
        if (!isHeld(task)) say(`it is to be stopped while it is ${task.state}`);
        task.stopping = true;
        if (event.reason.kind === "cancelled") task.cancelAsked = true;
        return;
      case "succeeded":
      case "failed":
      case "cancelled":
      case "skipped":
        this.#yield(task);
        if (event.kind === "failed") task.failures++;
        if (event.kind === "succeeded") task.expiries = 0;
        task.state = event.kind;
        task.offer = undefined;
        return;
      case "retried":
      case "expired":
      case "released":
        return this.#comeBack(task, event);
      case "parked":
        this.#yield(task);
        task.state = "parked";
        task.offer = undefined;
        return;
      case "requeued":
        if (task.state !== "parked") say(`it is put back while it is ${task.state}`);
        task.state = "waiting";
        task.expiries = 0;
        [task.notBefore, task.backAt] = [event.at, event.at];
        return;
      case "approved":
        task.approved = true;
        return;
      case "waiting":
        if (task.state !== "waiting") say(`it is said to wait for ${event.wait.reason} while it is ${task.state}`);
        if (event.at < task.notBefore) say(`it is said to wait for ${event.wait.reason} while it is backing off`);
        return;
      case "offered":
        if (task.state !== "waiting") say(`it is offered while it is ${task.state}`);
        task.offer = { session: event.session, until: event.until };
        return;
      case "offer_ended":
        task.offer = undefined;
        return;
      case "edited":
        if (isHeld(task)) say(`it is changed while ${task.worker} has it`);
        task.spec = { ...task.spec, ...event.changes };
        return;
      default:
        return;
    }
  }

  #comeBack(task: SeenTask, event: TaskEvent & { readonly kind: "retried" | "expired" | "released" }): void {
    this.#yield(task);
    task.state = "waiting";
    task.notBefore = event.kind === "released" ? event.at : event.notBefore;
    task.backAt = event.at;
    if (event.kind === "expired") task.expiries++;
    if (event.kind !== "retried") return;
    task.expiries = 0;
    if (event.costs) task.failures++;
  }

  #renew(
    task: SeenTask,
    { deadline, at, attempt }: TaskEvent & { readonly kind: "lease_renewed" },
    say: (law: string) => void,
  ): void {
    if (!isHeld(task)) say(`no worker has it: it is ${task.state}`);
    if (attempt !== task.attempt) say(`claim ${attempt} is renewed, and claim ${task.attempt} has it`);
    const isLate = task.deadline !== undefined && at > task.deadline;
    if (isLate && !this.forgives && isOfSession(task)) {
      say(`it is renewed ${at - (task.deadline as number)} ms after its lease had run out`);
    }
    task.deadline = deadline;
  }

  #yield(task: SeenTask): void {
    if (isWorking(task)) this.#shared.giveBack(task);
    this.#shared.unlock(task);
    task.worker = undefined;
    task.deadline = undefined;
    task.stopping = false;
  }
}

function outcomeOf({ tasks, cancelling }: SeenRun): string {
  if (tasks.some(({ state }) => state === "failed")) return "failed";
  return cancelling || tasks.some(({ state }) => state === "cancelled") ? "cancelled" : "succeeded";
}
