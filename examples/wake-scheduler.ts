/**
 * A scheduler within a program that wakes agents in a way of its own. Here an agent is a function; elsewhere a waker types into a terminal,
 * calls a web hook or starts a process. With Node 24: `node examples/wake-scheduler.ts`.
 */
import { type BatchWaker, type EscalationActor, openScheduler } from "rota";

/** An agent that was woken claims what there is for it, until there is nothing more. */
async function work(session: string): Promise<void> {
  for (;;) {
    const grant = await rota.client.claim({ session });
    if (grant === undefined) return;
    const { run, task, fence, token } = grant;
    console.log(`${session} does ${task}`);
    await rota.client.complete({ run, task, fence, token, summary: `${task} is done` });
  }
}

const atWork: Promise<void>[] = [];

const waker: BatchWaker = {
  wakeMany: (targets) => {
    for (const { session } of targets) atWork.push(work(session));
    // An error for each session that could not be woken, or none.
    return targets.map(() => undefined);
  },
};

const escalation: EscalationActor = {
  // No session can do what the task requires, so one joins that can.
  spawn: async ({ pool, requires }) => {
    await rota.client.join({ session: "reviewer", pool, capabilities: [...requires] });
    return true;
  },
  parked: ({ task }, message) => console.log(`${task} waits for a person: ${message}`),
};

const settings = { starvingAge: "0s", ladder: [1, 1, 5, 10], wakeInterval: "50ms" } as const;
await using rota = await openScheduler({ waker, escalation, settings });

await rota.client.join({ session: "writer", pool: "agents" });
const { outcome } = await rota.run({
  name: "essay",
  tasks: {
    draft: { pool: "agents", prompt: "Write a draft." },
    review: { pool: "agents", prompt: "Review the draft.", needs: ["draft"], requires: ["review"] },
  },
});
await Promise.all(atWork);
console.log(`${outcome}; sessions asked for: ${rota.wakes.stats().spawned}`);
