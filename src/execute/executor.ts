/** The contract between the engine and whatever does the work: start an attempt, tell when it is alive, tell how it ended. */
import type { RunId, TaskId } from "../domain/ids.ts";
import type { Outcome } from "../domain/outcome.ts";
import type { Command, EnvValue, Priority, Prompt } from "../domain/spec.ts";
import type { ProcessIdentity, StopReason } from "../domain/task.ts";
import type { Millis } from "../domain/time.ts";

/** One attempt at one task, with everything needed to make it. */
export interface Attempt {
  readonly run: RunId;
  readonly task: TaskId;
  /** Names the attempt and fences it. */
  readonly fence: number;
  /** Which run of the task's acceptance command this is; the work itself when absent. */
  readonly verification?: number;
  /** What to do: a command to run, or words for an agent. */
  readonly work: Command | Prompt;
  /** Absolute. */
  readonly cwd: string;
  readonly env: Readonly<Record<string, EnvValue>>;
  readonly priority: Priority;
  /** Where the attempt's output goes, absolute. Written by the attempt itself. */
  readonly log: string;
  readonly memoryLimit?: number;
}

/** What an executor tells while an attempt lives. */
export interface Watch {
  /** The attempt is running. Told once, before the outcome; not told when it could not be started. */
  started(process: ProcessIdentity | undefined): void;
  /** The attempt gave a sign of life: output, a note, a changed file. */
  progressed(): void;
  /** The outcome is known, and nobody has heard of it yet: what should be done before anything else is done in here. Told by those who are eager. */
  ending?(outcome: Outcome): void;
}

/** A live attempt. */
export interface Handle {
  /** Kept exactly once, when nothing of the attempt is left: every process gone, every byte of its log written. Never broken. */
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
  /** To begin takes so long that it is worth doing beside the commit of the claim, where the store knows already that it may be done. */
  readonly isEager?: boolean;
  /**
   * Told before it is certain that the attempt may be made: does what can be done before `start`, which follows, or `forgo`, or neither. With
   * `ahead` others run until then, and may change what it will find.
   */
  prepare?(attempt: Attempt, ahead?: boolean): void;
  /** What was prepared is not going to be started. */
  forgo?(attempt: Attempt): void;
  start(attempt: Attempt, watch: Watch): Handle;
  /**
   * Takes over an attempt that outlived the scheduler that started it, or learns how it ended meanwhile.
   * Nothing when no trace of it is left: then nothing of it runs any more either. One that runs but can no longer be
   * watched is ended, and its outcome is `lost`.
   */
  adopt(attempt: Attempt, process: ProcessIdentity | undefined, watch: Watch): Promise<Handle | undefined>;
  /**
   * Stops whatever earlier schedulers of this state directory left running and nobody adopted. Returns how many attempts that were.
   * What is known of attempts that had ended when they were adopted is forgotten then, so this comes after that has been saved.
   */
  sweep(): Promise<number>;
  /**
   * Leaves what runs to a later scheduler, as if this one had been killed: nothing more is started here, and disposing stops nothing.
   * What was told here may not be saved, so a later scheduler can ask for it again. Absent where attempts end with this process.
   */
  leave?(): void;
}
