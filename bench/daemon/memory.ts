/** Whether the daemon remembers what it need not: memory after a full collection, the more tasks have come and gone. */
import { connect } from "../../src/wire/client.ts";
import { drain, SESSIONS } from "./pairs.ts";
import type { Served } from "./serve.ts";
import { joinSessions, submitPlan } from "./sessions.ts";

export interface MemoryAt {
  readonly tasks: number;
  readonly rssMb: number;
  readonly heapMb: number;
}

/** Plans of `plan` tasks, one after the other, each drained before the next comes; looked at after each of `marks` tasks. */
export async function memoryOver(served: Served, plan: number, marks: readonly number[]): Promise<readonly MemoryAt[]> {
  await using submitter = connect({ socket: served.socket });
  const members = await joinSessions(served.socket, SESSIONS);
  const seen: MemoryAt[] = [];
  let tasks = 0;
  for (const mark of marks) {
    for (; tasks < mark; tasks += plan) {
      await submitPlan(submitter, { count: plan });
      await Promise.all(members.map(drain));
    }
    const { rss, heap } = await served.use("collect");
    seen.push({ tasks, rssMb: rss / 2 ** 20, heapMb: heap / 2 ** 20 });
    process.stderr.write(`memory after ${tasks} tasks: heap ${(heap / 2 ** 20).toFixed(1)} MB\n`);
  }
  for (const { client } of members) client.close();
  return seen;
}
