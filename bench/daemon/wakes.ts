/** From submitting one task to a waiting session having it, on a system that does nothing else. */
import { setTimeout as pause } from "node:timers/promises";
import { connect } from "../../src/wire/client.ts";
import { idleMs, WARM_UP_SAMPLES } from "../rig.ts";
import type { Served } from "./serve.ts";
import { completion, joinSessions, planText, submitText } from "./sessions.ts";

const WAIT_MS = 60_000;

export async function wakeTimes({ socket }: Served, samples: number): Promise<readonly number[]> {
  await using submitter = connect({ socket });
  const [one] = await joinSessions(socket, 1);
  if (one === undefined) throw new Error("no session joined");
  const plan = planText({ count: 1 });
  const times: number[] = [];
  for (let no = 0; no < samples + WARM_UP_SAMPLES; no++) {
    const claimed = one.client.claim({ session: one.id, waitMs: WAIT_MS });
    if (idleMs(no) > 0) await pause(idleMs(no));
    const start = performance.now();
    const submitted = submitText(submitter, plan);
    const grant = await claimed;
    times.push(performance.now() - start);
    await submitted;
    if (grant === undefined) throw new Error("the task was not claimed");
    await one.client.complete(completion(grant));
  }
  one.client.close();
  return times.slice(WARM_UP_SAMPLES);
}
