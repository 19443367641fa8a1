/** The contract between the engine and whatever does the work: start an attempt, tell when it is alive, tell how it ended. */
import type { RunId, TaskId, WorkerId } from "../domain/ids.ts";
import type { Outcome } from "../domain/outcome.ts";
import type { EnvValue, Priority, Work } from "../domain/spec.ts";
import type { ProcessIdentity, StopReason } from "../domain/task.ts";
import type { Millis } from "../domain/time.ts";

/** Where an attempt is made. The engine works it out once, for every executor. */
export interface Place {
  /** The worker that holds the claim. It decides which executor does the work. */
  readonly worker: WorkerId;
  /** The node of which the attempt was given its share. */
  readonly node: string;
  /** Where the work is done, absolute. */
  readonly directory: string;
}

/** One attempt at one task, with everything needed to make it. */
export interface Attempt {
  readonly run: RunId;
  readonly task: TaskId;
  /** Names the attempt and fences it. */
  readonly fence: number;
  /** Which run of the task's acceptance command this is; the work itself when absent. */
  readonly verification?: number;
  /** What to do: a command to run, words for an agent, or a function to call. */
  readonly work: Work;
  readonly where: Place;
  readonly env: Readonly<Record<string, EnvValue>>;
  readonly priority: Priority;
  /** Where the attempt's output goes, absolute. Written by the attempt itself. */
  readonly log: string;
  readonly memoryLimit?: number;
}

/** Something that an attempt says about itself while it lives, for people: not empty, and no longer than a session's note may be. */
export interface Saying {
  readonly kind: "said";
  readonly text: string;
}

/** What an executor tells while an attempt lives. */
export interface Watch {
  /** The attempt is running. Told once, before the outcome; not told when it could not be started. */
  started(process: ProcessIdentity | undefined): void;
  /** The attempt gave a sign of life: output, a note, a changed file. */
  progressed(): void;
  /**
   * The attempt said something, which is a sign of life too. The executor keeps all of it in the attempt's log, within bounds
   * (`sayings.ts`); the ledger gets the newest now and then, as it does of a session's notes.
   */
  said(saying: Saying): void;
}

/** A live attempt. */
export interface Handle {
  /**
   * Kept exactly once, when nothing of the attempt is left: every process gone, every byte of its log written. Never broken. It says
   * how the attempt ended, what it used, and what it gives back: `summary`. `shortage` says that the machine had no room to begin it.
   */
  readonly outcome: Promise<Outcome>;
  /**
   * Asks the attempt to end, and kills it after `grace` (at once when 0). The outcome then is the reason's. May be called
   * again to shorten the grace; the first reason stands, but a hard limit takes the place of a soft one. Harmless once the attempt
   * has ended.
   */
  stop(reason: StopReason, grace: Millis): void;
}

/**
 * Disposing of it stops what still runs (`shutdown`) and is done when nothing does, unless that was left; what is started afterwards
 * ends so too.
 */
export interface Executor extends AsyncDisposable {
  /** The claim is durable. */
  start(attempt: Attempt, watch: Watch): Handle;
  /**
   * Takes over an attempt that outlived the scheduler that started it, or learns how it ended meanwhile.
   * Nothing when no trace of it is left: then nothing of it runs any more either. An attempt that runs but can no longer be
   * watched is ended, and its outcome is `lost`.
   */
  adopt(attempt: Attempt, process: ProcessIdentity | undefined, watch: Watch): Promise<Handle | undefined>;
  /**
   * Stops all attempts that earlier schedulers of this state directory left running and that this one has not adopted, and returns how many
   * these were. It is called after what was learned of adopted attempts has been saved.
   */
  sweep(): Promise<number>;
  /**
   * Leaves what runs to a later scheduler, as if this one had been killed: nothing more is started here, and disposing stops nothing.
   * What was told here may not be saved, so a later scheduler can ask for it again. Absent where attempts end with this process.
   */
  leave?(): void;
}
