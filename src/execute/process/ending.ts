/** Ends processes for good: asks, waits, kills, and looks again until nothing is left. */
import { listProcesses } from "../../effects/host.ts";

/** What is still there: whole process groups, and single processes that left theirs. */
export interface Remains {
  readonly groups: readonly number[];
  readonly pids: readonly number[];
}

export interface Ending {
  /** Looks again each time, since what is asked to end may start something on its way out. */
  find(): Remains | Promise<Remains>;
  /** From when on it is killed, on the same scale as `now`. Asked each time: it may be brought forward. */
  killAt(): number;
  now(): number;
  pause(ms: number): Promise<void>;
  /** Groups that were asked already. */
  readonly asked?: readonly number[];
}

const PAUSE_FIRST_MS = 2;
const PAUSE_MAX_MS = 50;

/** Kept when nothing is left. A process that the kernel itself cannot end (waiting for a dead disk) keeps it waiting. */
export async function endProcesses(ending: Ending): Promise<void> {
  const asked = new Set((ending.asked ?? []).map((group) => -group));
  for (let pause = PAUSE_FIRST_MS; ; pause = Math.min(pause * 2, PAUSE_MAX_MS)) {
    const { groups, pids } = await ending.find();
    if (groups.length + pids.length === 0) return;
    const late = ending.now() >= ending.killAt();
    for (const target of [...groups.map((group) => -group), ...pids]) {
      if (late) signal(target, "SIGKILL");
      else if (!asked.has(target)) ask(target);
      asked.add(target);
    }
    await ending.pause(pause);
  }
}

/** Asks a process, or (below zero) a group, to end. A stopped process must be woken to hear it. */
export function ask(target: number): void {
  signal(target, "SIGTERM");
  signal(target, "SIGCONT");
}

/** Whether there was anything to signal. */
export function signal(target: number, name: NodeJS.Signals | 0): boolean {
  // The stack of this error is never read, and finding it out is most of what asking costs.
  const depth = Error.stackTraceLimit;
  Error.stackTraceLimit = 0;
  try {
    process.kill(target, name);
    return true;
  } catch (error) {
    // It is there, but belongs to another user.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  } finally {
    Error.stackTraceLimit = depth;
  }
}

/** Groups of these that have a living member. Zombies that their parent does not reap answer signals too, so a first yes is looked at closely. */
export function livingGroups(groups: readonly number[]): readonly number[] {
  const answering = groups.filter((group) => signal(-group, 0));
  if (answering.length === 0) return [];
  const living = new Set<number>();
  for (const process of listProcesses()) if (!process.zombie) living.add(process.group);
  return answering.filter((group) => living.has(group));
}
