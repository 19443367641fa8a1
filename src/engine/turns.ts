/**
 * One turn after the other: take what came in, decide, commit, and only then act. Nothing is told, and nothing starts, before the store has it.
 * While the store writes, the next turns decide already; what they bring is the next batch.
 */
import { UserError } from "../domain/errors.ts";
import type { Event } from "../domain/event.ts";
import { type Instant, later, millis } from "../domain/time.ts";
import type { Change, World } from "../domain/world.ts";
import type { Clock } from "../effects/clock.ts";
import type { Epoch, Store } from "../store/store.ts";
import { Failure } from "./failure.ts";
import { Journal } from "./journal.ts";
import { Loop } from "./loop.ts";
import { Outbox } from "./outbox.ts";
import { Recorder } from "./recorder.ts";
import type { Input, Turn } from "./turn.ts";

/** How long what is not urgent may wait for the next commit. */
const LAZY_MAX = millis(20);

/** What a turn does between taking and committing. */
export interface Rules {
  /** Rules on everything that came in, and on everything whose time has come. */
  decide(turn: Turn, inputs: readonly Input[]): void;
  /** A task moved. */
  observe(change: Change): void;
  /** Whether there is more to decide than one turn did. */
  readonly hasMore: boolean;
  /** When the next turn is due, if no input comes before. */
  nextWake(now: Instant): Instant | undefined;
}

export interface TurnsDeps {
  readonly world: World;
  readonly clock: Clock;
  readonly store: Pick<Store, "commit" | "tend">;
  readonly epoch: Epoch;
  /** How many tasks are enough for a batch, while others are being written. */
  readonly batchMax: number;
  readonly rules: Rules;
}

export class Turns {
  readonly #rules: Rules;
  readonly #journal: Journal;
  readonly #outbox: Outbox;
  readonly #recorder: Recorder;
  readonly #loop: Loop;
  readonly #failure = new Failure();
  #inbox: Input[] = [];
  #lazySince: Instant | undefined;

  constructor({ world, clock, store, epoch, batchMax, rules }: TurnsDeps) {
    this.#rules = rules;
    this.#outbox = new Outbox();
    this.#journal = new Journal(world, (change) => rules.observe(change));
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
      journal: this.#journal,
      outbox: this.#outbox,
      done: () => this.#goOn(),
      failed: (error) => this.fail(error),
    });
  }

  /** Has the next turn do something. */
  take(input: Input): void {
    this.#inbox.push(input);
    this.#loop.schedule();
  }

  /** Runs `change` in the next turn; kept once what it did is durable. */
  durably<T>(change: (turn: Turn) => T): Promise<T> {
    return this.#failure.promiseOf((keep, refuse) =>
      this.take((turn) => {
        try {
          const result = change(turn);
          turn.answer(() => keep(result));
        } catch (error) {
          // What a caller got wrong is the caller's: the turn goes on. A refusal may have left a trace, which comes first.
          if (!(error instanceof UserError)) throw error;
          turn.answer(() => refuse(error));
        }
      }),
    );
  }

  /** There is something to decide, although nothing came in. */
  schedule(): void {
    this.#loop.schedule();
  }

  /** Broken, never kept: when the store can no longer be trusted, nothing more is decided. */
  get failed(): Promise<never> {
    return this.#failure.promise;
  }

  /** Decides nothing more. All that waits is told why. */
  fail(error: unknown): void {
    this.#loop.close();
    this.#failure.happen(error);
  }

  /** The promise, unless everything fails before it is kept. */
  orFail<T>(promise: Promise<T>): Promise<T> {
    return this.#failure.orFail(promise);
  }

  /** Whether all that was decided is durable: what the World says now stays true whatever happens. */
  get settled(): boolean {
    return this.#recorder.settled;
  }

  /** Is told the events of each commit, once they are durable. Returns the way to stop that. */
  listen(listener: (events: readonly Event[]) => void): () => void {
    return this.#outbox.listen(listener);
  }

  /** No more turns. Kept when what was decided is written. */
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
      journal: this.#journal,
      after: (act) => outbox.act(act),
      answer: (answer) => outbox.answer(answer),
    };
  }

  #mustCommit(now: Instant): boolean {
    if (this.#journal.urgent || !this.#outbox.isEmpty) return true;
    if (this.#journal.empty) return false;
    this.#lazySince ??= now;
    return now >= later(this.#lazySince, LAZY_MAX);
  }

  /** What the turn leads to is done when this is durable. */
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
