/** Ends attempts whose spawner is gone, from what is known of them: their groups, and the marks their processes carry. */
import type { ProcessIdentity } from "../../domain/task.ts";
import { instant, type Millis, millis } from "../../domain/time.ts";
import { type Clock, sleep } from "../../effects/clock.ts";
import { isAlive, processStat } from "../../effects/host.ts";
import { endProcesses, livingGroups, type Remains } from "./ending.ts";
import { type Sighting, sight } from "./marks.ts";

export interface Stranded {
  readonly key: string;
  readonly process?: ProcessIdentity | undefined;
}

/** Longer than a process takes to become another program. */
const SECOND_LOOK = millis(20);

/** Kept when nothing of them is left. */
export async function rescue(
  stranded: readonly Stranded[],
  { stateId, clock, grace }: { readonly stateId: string; readonly clock: Clock; readonly grace: Millis },
): Promise<void> {
  if (stranded.length === 0) return;
  const killAt = instant(clock.now() + grace);
  // A group lives on under its number when its leader has ended, so the leader need not be seen again.
  const groups = stranded.flatMap(({ process }) => (process !== undefined && isAlive(process) ? [process.pid] : []));
  const end = (): Promise<void> =>
    endProcesses({
      find: () => remains(stranded, groups, stateId),
      killAt: () => killAt,
      now: () => clock.now(),
      pause: (ms) => sleep(clock, millis(ms)),
    });
  await end();
  // A process that is just becoming another program shows no marks, so one may have been overlooked.
  await sleep(clock, SECOND_LOOK);
  await end();
}

/** Whether anything of an attempt still runs. */
export const isStranded = ({ process, key }: Stranded, seen: Sighting): boolean =>
  (process !== undefined && isAlive(process)) || seen.has(key);

function remains(stranded: readonly Stranded[], groups: readonly number[], stateId: string): Remains {
  const seen = sight(stateId);
  const living = livingGroups(groups);
  const inside = new Set(living);
  const pids = stranded
    .flatMap(({ key }) => seen.get(key) ?? [])
    .filter((pid) => !inside.has(processStat(pid)?.group ?? 0));
  return { groups: living, pids };
}
