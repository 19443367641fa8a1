/** Goes on with the runs of an earlier scheduler: live attempts are taken over, and the others are queued again. */

import type { Pools } from "../../decide/pools.ts";
import type { Breakers } from "../../decide/room/breakers.ts";
import type { History } from "../../domain/durations/history.ts";
import { UserError } from "../../domain/errors.ts";
import type { Event } from "../../domain/event.ts";
import { isLocal } from "../../domain/lease.ts";
import type { Run, RunNo } from "../../domain/run.ts";
import { aheadOf, isHeld, isWorking, type Task } from "../../domain/task.ts";
import type { Instant } from "../../domain/time.ts";
import type { World } from "../../domain/world.ts";
import type { Clock } from "../../effects/clock.ts";
import { restoreRun } from "../../store/rows.ts";
import type { Store } from "../../store/store.ts";
import type { Keys } from "../sessions/keys.ts";
import type { Turn } from "../turn/turn.ts";
import type { TurnRules } from "../turn/turn-rules.ts";
import type { Turns } from "../turn/turns.ts";
import type { Work } from "./work.ts";

export interface RecoveryDeps extends Pick<Work, "leases" | "workers" | "verifier" | "stopper" | "deadlineWatcher"> {
  readonly store: Pick<Store, "load" | "events" | "history">;
  readonly clock: Pick<Clock, "now">;
  readonly world: World;
  readonly pools: Pools;
  readonly breakers: Pick<Breakers, "recall">;
  readonly keys: Pick<Keys, "admit" | "recall">;
  readonly rules: Pick<TurnRules, "watch">;
  readonly turns: Pick<Turns, "durably" | "take">;
  /** Records that this scheduler continues the run. */
  readonly reopen: (turn: Turn, run: Run) => void;
}

/** A run of another scheduler, and which of its attempts are gone. */
interface Taken {
  readonly run: Run;
  readonly history: History;
  readonly lost: readonly Task[];
}

export class Recovery {
  readonly #deps: RecoveryDeps;

  constructor(deps: RecoveryDeps) {
    this.#deps = deps;
  }

  /** Takes up the runs together: no task is given out before it is known what each run holds already. */
  async takeUp(nos: readonly RunNo[]): Promise<readonly Run[]> {
    const taken: Taken[] = [];
    for (const no of nos) taken.push(await this.#takeUp(no));
    await this.#recallBreakers(taken);
    const { pools, rules, deadlineWatcher, keys, turns, reopen } = this.#deps;
    return turns.durably((turn) => {
      // Only when it is known which attempts live: an old lease must not expire while its holder is being looked for.
      for (const { run, history } of taken) {
        if (run.status.state !== "finished") reopen(turn, run);
        setBack(turn, run);
        pools.admit(run, history, turn.now);
        keys.admit(run);
        rules.watch(run);
      }
      for (const { run, lost } of taken) for (const task of lost) this.#loseAtRestart(turn, run, task);
      // Sessions keep what they hold. While no scheduler ran they could give no sign of life, so each has a whole span again.
      deadlineWatcher.forgive(turn);
      return taken.map(({ run }) => run);
    });
  }

  /** Puts the held tasks of an abandoned run back in its queue. To be called when none of them runs any more. */
  async shelve(no: RunNo): Promise<void> {
    const { world, turns } = this.#deps;
    if (world.run(no) !== undefined) return;
    const run = await this.#load(no);
    const held = run?.tasks.filter((task) => isOurs(task) && isWorking(task.status)) ?? [];
    if (run === undefined || held.length === 0) return;
    world.runs.set(no, run);
    await turns.durably((turn) => {
      for (const task of held) this.#putBack(turn, run, task);
    });
    world.runs.delete(no);
  }

  async #takeUp(no: RunNo): Promise<Taken> {
    const run = await this.#load(no);
    if (run === undefined) throw new UserError("RUN_UNKNOWN", `There is no run ${no}`);
    const { store, keys, world } = this.#deps;
    const history = await store.history(run.manifest.name);
    await keys.recall(run.tasks.map(({ spec }) => spec));
    world.runs.set(no, run);
    const lost: Task[] = [];
    for (const task of run.tasks.filter(isOurs)) if (!(await this.#adopt(run, task))) lost.push(task);
    return { run, history, lost };
  }

  /** A breaker that was open is open still: its history is read from the ledger, in order. */
  async #recallBreakers(taken: readonly Taken[]): Promise<void> {
    const { store, clock, breakers } = this.#deps;
    const now = clock.now();
    const told: { readonly run: Run; readonly event: Event }[] = [];
    for (const { run } of taken) {
      if (run.tasks.every(({ spec }) => spec.provider === undefined)) continue;
      for (const event of await store.events({ run: run.no })) told.push({ run, event: past(event, now) });
    }
    told.sort((a, b) => a.event.seq - b.event.seq);
    for (const { run, event } of told) breakers.recall(run, [event]);
  }

  async #load(no: RunNo): Promise<Run | undefined> {
    const stored = await this.#deps.store.load(no);
    return stored && restoreRun(stored.row, stored.specs, stored.tasks);
  }

  async #adopt(run: Run, task: Task): Promise<boolean> {
    const { workers, stopper, turns } = this.#deps;
    const process = "process" in task.status ? task.status.process : undefined;
    const adopted = await workers.adopt(run, task, process);
    const { status } = task;
    const stopping = isHeld(status) ? status.stopping : undefined;
    if (adopted && stopping !== undefined) turns.take((turn) => stopper.repeat(turn, task, stopping));
    return adopted;
  }

  /** It was ended to make room for another run: that is not its fault, and not counted. */
  #putBack(turn: Turn, run: Run, task: Task): void {
    if (isHeld(task.status) && task.status.stopping !== undefined) return this.#loseAtRestart(turn, run, task);
    this.#deps.leases.release(turn, run, task, "another run was begun in its place");
  }

  /** A claim that never started costs nothing; a started attempt that is gone is a lost lease. */
  #loseAtRestart(turn: Turn, run: Run, task: Task): void {
    const { leases, verifier } = this.#deps;
    const { status } = task;
    if (status.state === "verifying") return verifier.lost(turn, run, task, status);
    const neverStarted = status.state === "claimed" && status.stopping === undefined;
    if (neverStarted) leases.release(turn, run, task, "the scheduler was restarted");
    else leases.lose(turn, run, task, turn.now);
  }
}

/** An event lies in the past, even if its clock was ahead of this one. */
const past = (event: Event, now: Instant): Event => (event.at > now ? { ...event, at: now } : event);

/** The clock may be behind that of the scheduler before: no task waits longer for that, and no lease lasts longer. */
function setBack({ pending, now }: Turn, run: Run): void {
  for (const task of run.tasks) {
    const by = aheadOf(task, now);
    if (by > 0) pending.ofTask(run, task, { kind: "set_back", by }, now);
  }
}

/** Held by a worker inside the scheduler before this one, so this scheduler looks after it. Sessions look after what they hold. */
const isOurs = ({ status }: Task): boolean => isHeld(status) && isLocal(status.lease);
