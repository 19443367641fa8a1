/** Whether a claim takes longer the more there is: one session alone, and one among a thousand that wait for something else. */
import { connect } from "../../src/wire/client.ts";
import { type Percentiles, percentiles } from "../rig.ts";
import type { Served } from "./serve.ts";
import { completion, joinSessions, submitPlan } from "./sessions.ts";
import { waitInVain } from "./waiting.ts";

/** What the tasks ask for, and only the session that is measured can do. */
const SKILL = "rare";
const WARM_UP = 200;

/** How long claims take that are answered at once. `idle` others wait meanwhile, and `queued` tasks are there at any moment or more. */
export async function claimTimes(
  { socket }: Served,
  { idle, queued, claims }: { readonly idle: number; readonly queued: number; readonly claims: number },
): Promise<Percentiles> {
  await using submitter = connect({ socket });
  await using _others = await waitInVain(await joinSessions(socket, idle, { prefix: "idle" }));
  const [one] = await joinSessions(socket, 1, { capabilities: [SKILL] });
  if (one === undefined) throw new Error("no session joined");
  const times: number[] = [];
  let left = 0;
  while (times.length < claims + WARM_UP) {
    if (left === 0) {
      await submitPlan(submitter, { count: queued, requires: [SKILL] });
      left = queued;
    }
    const start = performance.now();
    const grant = await one.client.claim({ session: one.id });
    times.push(performance.now() - start);
    if (grant === undefined) throw new Error("there was nothing to claim");
    await one.client.complete(completion(grant));
    left--;
  }
  one.client.close();
  return percentiles(times.slice(WARM_UP));
}
