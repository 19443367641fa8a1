/**
 * One turn after the other: take what came in, decide, commit, and only then act. No caller is told, and nothing starts, before the store has it.
 * While the store writes, the next turns already decide; their decisions are the next batch.
 */
import { UserError } from "../../domain/errors.ts";
import type { Event } from "../../domain/event.ts";
import { type Instant, later, millis } from "../../domain/time.ts";
import type { Change, World } from "../../domain/world.ts";
import type { Clock } from "../../effects/clock.ts";
import type { Epoch, Store } from "../../store/store.ts";
import { Failure } from "./failure.ts";
import { Loop } from "./loop.ts";
import { Outbox } from "./outbox.ts";
import { PendingBatch } from "./pending-batch.ts";
import { Recorder } from "./recorder.ts";
import type { Input, Turn } from "./turn.ts";

/** How long events that are not urgent may wait for the next commit. */
const LAZY_MAX = millis(20);

/** What a turn does between its inputs and its commit. */
export interface Rules {
  /** Decides on all inputs, and on all deadlines that have passed. */
  decide(turn: Turn, inputs: readonly Input[]): void;
  /** A task has changed. */
  observe(change: Change): void;
  /** Whether there is more to decide than one turn did. */
  readonly hasMore: boolean;
  /** When the next turn is due, if no input comes before. */
  nextWake(now: Instant): Instant | undefined;
}

export interface TurnsDeps {
  readonly world: World;
  readonly clock: Clock;
  readonly store: Pick<Store, "commit" | "maintain">;
  readonly epoch: Epoch;
  /** How many tasks are enough for a batch, while another one is being written. */
  readonly batchMax: number;
  readonly rules: Rules;
}

export class Turns {
  readonly #rules: Rules;
  readonly #pending: PendingBatch;
  readonly #outbox: Outbox;
  readonly #recorder: Recorder;
  readonly #loop: Loop;
  readonly #failure = new Failure();
  #inbox: Input[] = [];
  #lazySince: Instant | undefined;

  constructor({ world, clock, store, epoch, batchMax, rules }: TurnsDeps) {
    this.#rules = rules;
    this.#outbox = new Outbox();
    this.#pending = new PendingBatch(world, (change) => rules.observe(change));
    this.#loop = new Loop({
      clock,
      turn: (now) => this.#turn(now),
      pending: () => this.#isPending && !this.#recorder.isFull,
      nextWake: (now) => this.#nextWake(now),
      failed: (error) => this.#failure.happen(error),
    });
    this.#recorder = new Recorder({
      store,
      epoch,
      clock,
      batchMax,
      pending: this.#pending,
      outbox: this.#outbox,
      done: () => this.#goOn(),
      failed: (error) => this.fail(error),
    });
  }

  /** Hands an input to the next turn. */
  take(input: Input): void {
    this.#inbox.push(input);
    this.#loop.schedule();
  }

  /** Runs `change` in the next turn; resolves when its events are durable. */
  durably<T>(change: (turn: Turn) => T): Promise<T> {
    return this.#failure.promiseOf((keep, refuse) =>
      this.take((turn) => {
        try {
          const result = change(turn);
          turn.answer(() => keep(result));
        } catch (error) {
          // A mistake of the caller is no failure of the turn. A refusal may have been recorded, and that is durable first.
          if (!(error instanceof UserError)) throw error;
          turn.answer(() => refuse(error));
        }
      }),
    );
  }

  /** There is something to decide without an input. */
  schedule(): void {
    this.#loop.schedule();
  }

  /** Rejects, and never resolves: when the store can no longer be trusted, no further turn is taken. */
  get failed(): Promise<never> {
    return this.#failure.promise;
  }

  /** Takes no further turn. Every waiting caller gets the error. */
  fail(error: unknown): void {
    this.#loop.close();
    this.#failure.happen(error);
  }

  /** The promise, unless everything fails before it is settled. */
  orFail<T>(promise: Promise<T>): Promise<T> {
    return this.#failure.orFail(promise);
  }

  /** Whether all decisions are durable: what the World says now stays true whatever happens. */
  get settled(): boolean {
    return this.#recorder.settled;
  }

  /** The listener gets the events of each commit when they are durable. Returns the function that removes it. */
  listen(listener: (events: readonly Event[]) => void): () => void {
    return this.#outbox.listen(listener);
  }

  /** Takes no more turns. Resolves when all decisions are written. */
  close(): Promise<void> {
    this.#loop.close();
    return this.#recorder.finish();
  }

  #turn(now: Instant): void {
    if (this.#recorder.isFull) return;
    const inputs = this.#inbox;
    this.#inbox = [];
    this.#rules.decide(this.#begin(now), inputs);
    if (this.#mustCommit(now)) this.#commit();
  }

  #begin(now: Instant): Turn {
    const outbox = this.#outbox;
    return {
      now,
      pending: this.#pending,
      after: (act) => outbox.act(act),
      answer: (answer) => outbox.answer(answer),
    };
  }

  #mustCommit(now: Instant): boolean {
    if (this.#pending.urgent || !this.#outbox.isEmpty) return true;
    if (this.#pending.empty) return false;
    this.#lazySince ??= now;
    return now >= later(this.#lazySince, LAZY_MAX);
  }

  /** The effects of the turn happen when this is durable. */
  #commit(): void {
    this.#lazySince = undefined;
    this.#recorder.write();
  }

  get #isPending(): boolean {
    return this.#inbox.length > 0 || this.#rules.hasMore;
  }

  /** The store is free again. */
  #goOn(): void {
    if (this.#isPending || !this.#recorder.settled || !this.#outbox.isEmpty) this.#loop.schedule();
  }

  #nextWake(now: Instant): Instant | undefined {
    // The next turn is taken when the store is free again.
    if (this.#recorder.isFull) return undefined;
    const lazily = this.#lazySince && later(this.#lazySince, LAZY_MAX);
    const due = this.#rules.nextWake(now);
    return lazily !== undefined && (due === undefined || lazily < due) ? lazily : due;
  }
}
