/** Claim and complete as fast as sixteen sessions can, beside what the same client does with two empty calls. */
import { connect } from "../../src/wire/client.ts";
import type { Throughput } from "../peers/queues/hall.ts";
import type { Served } from "./serve.ts";
import { completion, joinSessions, type Member, submitPlan } from "./sessions.ts";

export const SESSIONS = 16;
const WARM_UP = 4_000;
/** What is sent to a server that reads it and does nothing with it; as long as the real thing. */
const TOKEN = "t".repeat(43);

/** Claims and completes until there is nothing left. Gives how many it did. */
export async function drain({ id, client }: Member): Promise<number> {
  for (let pairs = 0; ; pairs++) {
    const grant = await client.claim({ session: id });
    if (grant === undefined) return pairs;
    await client.complete(completion(grant));
  }
}

/** Tasks are queued before the clock starts. */
export async function drainPlan({ socket }: Served, shape: string, count: number, size: number): Promise<Throughput> {
  await using submitter = connect({ socket });
  const members = await joinSessions(socket, SESSIONS);
  await submitPlan(submitter, { count: Math.min(count, WARM_UP) });
  await Promise.all(members.map(drain));
  const submitting = performance.now();
  await submitPlan(submitter, { shape, count, size });
  const start = performance.now();
  const done = await Promise.all(members.map(drain));
  const end = performance.now();
  for (const { client } of members) client.close();
  const sum = done.reduce((total, each) => total + each, 0);
  if (sum !== count) throw new Error(`${sum} of ${count} tasks were done`);
  const perSecond = (ms: number): number => (count * 1_000) / ms;
  return { perSecond: perSecond(end - start), submitPerSecond: perSecond(start - submitting) };
}

export async function barePairs({ socket }: Served, count: number): Promise<number> {
  const clients = Array.from({ length: SESSIONS }, () => connect({ socket }));
  const each = async (pairs: number): Promise<void> => {
    await Promise.all(
      clients.map(async (client, no) => {
        for (let pair = no; pair < pairs; pair += SESSIONS) {
          await client.claim({ session: `s${no}` });
          await client.complete({ run: "bench-2026-01-01-aaaa", task: `t${pair}`, fence: 1, token: TOKEN });
        }
      }),
    );
  };
  await each(Math.min(count, WARM_UP));
  const start = performance.now();
  await each(count);
  const ms = performance.now() - start;
  for (const client of clients) client.close();
  return (count * 1_000) / ms;
}
