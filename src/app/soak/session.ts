/** A session that works as long as it may, also while its daemon is killed and restarted. */
import { UserError } from "../../domain/errors.ts";
import { millis } from "../../domain/time.ts";
import { sleep, systemClock } from "../../effects/clock.ts";
import type { Random } from "../../effects/random.ts";
import type { Grant } from "../../wire/answers.ts";
import type { Client } from "../../wire/client.ts";

/** Ends that were acknowledged, as `run/task/claim`. */
export type Acks = Map<string, true>;

export interface SessionOptions {
  readonly client: Client;
  readonly id: string;
  readonly random: Random;
  readonly acks: Acks;
  readonly signal: AbortSignal;
}

const clock = systemClock();
const TRIES_MAX = 200;

export async function playSession({ client, id, random, acks, signal }: SessionOptions): Promise<void> {
  const rest = (): Promise<void> => sleep(clock, millis(20 + random.next() * 80));
  const join = (): Promise<unknown> => client.join({ agent: "soak", session: id, ttlMs: 10_000 });
  let claims = 0;
  let isKnown = false;
  while (!signal.aborted) {
    try {
      if (!isKnown) await join();
      isKnown = true;
      const grant = await client.claim({ session: id, key: `${id}.${claims}`, waitMs: 1_000 }, { signal });
      claims++;
      if (grant === undefined) continue;
      await rest();
      if (await complete(client, grant)) acks.set(`${grant.run}/${grant.task}/${grant.fence}`, true);
    } catch (error) {
      // An error of the daemon counts; any other means that no answer came, and then the same key is used again.
      if (error instanceof UserError && REFUSALS.has(error.code)) claims++;
      if (error instanceof UserError && error.code.startsWith("SESSION_")) isKnown = false;
      await rest();
    }
  }
}

const REFUSALS: ReadonlySet<string> = new Set(["LEASE_LOST", "SLOTS_TAKEN", "RUN_UNKNOWN"]);

/** Repeats the report until the daemon has heard it. False when it came too late. */
async function complete(client: Client, { run, task, fence, token }: Grant): Promise<boolean> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    try {
      await client.complete({ run, task, fence, token });
      return true;
    } catch (error) {
      if (error instanceof UserError && error.code === "LEASE_LOST") return false;
      await sleep(clock, millis(50));
    }
  }
  return false;
}
