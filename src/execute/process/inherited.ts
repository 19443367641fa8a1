/** What an earlier scheduler left on this machine: how far its attempts came, and the end of those that are not taken over. */
import { existsSync } from "node:fs";
import type { ProcessIdentity } from "../../domain/task.ts";
import { later, type Millis, millis } from "../../domain/time.ts";
import { type Clock, sleep } from "../../effects/clock.ts";
import { isAlive, processStat } from "../../effects/host.ts";
import { SECOND_LOOK } from "./attempt.ts";
import { type Begun, takeBegun } from "./directory.ts";
import { endProcesses, livingGroups, signal } from "./ending.ts";
import type { Slot } from "./register.ts";

/** Longer than a process takes from creating a file to writing a line into it. */
const SAID_WITHIN = millis(1_000);
const SAID_LOOK = millis(5);

/** Where its process has taken `begun` and does not say in time which one it is, it is ended. */
export async function whatBegan(
  directory: string,
  slot: Slot | undefined,
  process: ProcessIdentity | undefined,
  clock: Clock,
): Promise<Begun> {
  const until = later(clock.now(), SAID_WITHIN);
  if (!existsSync(directory) && process !== undefined && isAlive(process)) {
    return { kind: "begun", process, atMs: clock.now() };
  }
  let begun = takeBegun(directory);
  while (begun.kind === "unsaid" && clock.now() < until) {
    await sleep(clock, SAID_LOOK);
    begun = takeBegun(directory);
  }
  if (begun.kind === "unsaid" && slot !== undefined) endUnsaid(slot);
  return begun;
}

/** Its process is not the command yet, and so of the wrapper's group. What has begun the wrapper waits for, and then it goes. */
export function endUnsaid({ wrapper }: Slot): void {
  if (isAlive(wrapper)) signal(-wrapper.pid, "SIGKILL");
}

/** Ends these groups, and the processes that `strays` finds: each time it is asked, as there may be new ones. */
export async function endInherited(
  groups: readonly number[],
  strays: () => Iterable<readonly number[]>,
  clock: Clock,
  grace: Millis,
): Promise<void> {
  const killAt = later(clock.now(), grace);
  const end = (): Promise<void> =>
    endProcesses({
      find: () => {
        const living = livingGroups(groups);
        const pids = [...strays()].flat().filter((pid) => !living.includes(processStat(pid)?.group ?? 0));
        return { groups: living, pids };
      },
      killAt: () => killAt,
      now: () => clock.now(),
      pause: (ms) => sleep(clock, millis(ms)),
    });
  await end();
  // A process that is just becoming another program shows no marks, so one may have been overlooked.
  await sleep(clock, SECOND_LOOK);
  await end();
}
