/** What a daemon answers until it dies, and that the next one still has all of it. */
import { join } from "node:path";
import { expect } from "vitest";
import type { Grant } from "../../src/wire/answers.ts";
import { type Client, connect } from "../../src/wire/client.ts";
import { answers, submitted } from "./daemon.ts";
import { type Place, until } from "./rota.ts";

/** What the daemon said before it died. */
export interface Answered {
  readonly runs: Map<string, string>;
  readonly grants: Grant[];
  readonly completed: Set<string>;
}

/** A daemon that survives all calls is ended by the signal. */
export async function callUntilDead(
  place: Place,
  dead: Promise<unknown>,
  signal: NodeJS.Signals = "SIGKILL",
): Promise<Answered> {
  const answered: Answered = { runs: new Map(), grants: [], completed: new Set() };
  let isDead = false;
  const died = dead.then(() => {
    isDead = true;
  });
  const client = connect({ state: join(place.dir, "state") }, { by: "test" });
  await until("it serves or has died", async () => isDead || (await answers(client)));
  try {
    await client.join({ agent: "agents", session: "s1", slots: 50, ttlMs: 600_000 });
    for (let no = 0; !isDead && no < 60; no++) await oneRound(client, place, no, answered);
    // It makes fewer calls than that: then it dies after the last one.
    if (!isDead) process.kill((await client.info()).pid, signal);
  } catch (error) {
    // The call that was cut off was not answered; whether it was done is what the next one must be able to tell.
    expect((error as { code?: string }).code).toMatch(/DAEMON|ECONN|EPIPE|STORE_FAILED/);
  }
  client.close();
  await died;
  return answered;
}

async function oneRound(
  client: Client,
  place: Place,
  no: number,
  { runs, grants, completed }: Answered,
): Promise<void> {
  const { run } = await submitted(
    client,
    place,
    { name: `p${no}`, tasks: { a: { prompt: "x", pool: "agents" } } },
    `k${no}`,
  );
  runs.set(`k${no}`, run);
  const grant = await client.claim({ session: "s1", waitMs: 5_000, key: `c${no}` });
  if (grant === undefined) return;
  grants.push(grant);
  await client.complete({ run: grant.run, task: grant.task, fence: grant.fence, token: grant.token });
  completed.add(grant.run);
}

export async function expectKept(
  client: Client,
  place: Place,
  { runs, grants, completed }: Answered,
  what: string,
): Promise<void> {
  const known = new Map((await client.runs()).map((each) => [each.run, each]));
  for (const [key, run] of runs) {
    expect(known.has(run), `${what}: ${run} was answered`).toBe(true);
    const again = await submitted(
      client,
      place,
      { name: `p${key.slice(1)}`, tasks: { a: { prompt: "x", pool: "agents" } } },
      key,
    );
    expect(again.run, `${what}: the same key is the same run`).toBe(run);
  }
  for (const { run, task, fence, token } of grants) {
    const said = await client.complete({ run, task, fence, token });
    expect(said, `${what}: ${run}`).toMatchObject({ state: "succeeded" });
  }
  for (const run of completed) expect(known.get(run), what).toMatchObject({ state: "finished", outcome: "succeeded" });
}
