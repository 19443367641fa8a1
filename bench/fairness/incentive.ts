/** F4 and the end of F5: sharing leaves no party worse off than a machine of its own, and strict priorities starve no task for ever. */

import { seconds } from "../../src/domain/time.ts";
import { seededRandom } from "../../src/effects/random.ts";
import { contest, type Party, type Work } from "./contest.ts";
import { WEIGHTS } from "./scenarios.ts";

/** Over random amounts of work: the latest end of a party, over when it would have ended on its own part of the workers. */
export async function measureIncentive(mixes: number, workers: number): Promise<{ worst: number; parties: number }> {
  const random = seededRandom(4);
  let worst = 0;
  for (let mix = 0; mix < mixes; mix++) {
    const parties = WEIGHTS.map((weight): Party => {
      const ms = 200 + random.next() * 2_000;
      // Enough of it that its last task is not what counts.
      const count = Math.ceil(((weight / 100) * workers * (60_000 + random.next() * 240_000)) / ms);
      return { weight, tasks: Array.from({ length: count }, () => ({ ms: Math.ceil(ms * (0.5 + random.next())) })) };
    });
    const stays = await contest({ workers, parties });
    for (const [party, { weight, tasks }] of parties.entries()) {
      const end = stays.reduce((last, stay) => (stay.party === party ? Math.max(last, stay.end) : last), 0);
      const alone = tasks.reduce((sum, { ms }) => sum + ms, 0) / ((weight / 100) * workers);
      worst = Math.max(worst, end / alone);
    }
  }
  return { worst, parties: mixes * WEIGHTS.length };
}

/** How long a low task waits under strict priorities while critical ones never end, in patiences. It has three lanes to climb. */
export async function measureStarvation(workers: number): Promise<{ waitedMs: number; patiences: number }> {
  const wait = seconds(60);
  const critical = Array.from({ length: workers * 600 }, (): Work => ({ ms: 1_000, priority: "critical" }));
  const parties: readonly Party[] = [
    { weight: 99, tasks: critical },
    { weight: 1, tasks: [{ ms: 1_000, priority: "low" }] },
  ];
  const options = { priorities: "strict", patience: { dispatches: 100, wait } } as const;
  const stays = await contest({ workers, parties, options });
  const waitedMs = stays.find(({ party }) => party === 1)?.start ?? Number.POSITIVE_INFINITY;
  return { waitedMs, patiences: waitedMs / wait };
}
