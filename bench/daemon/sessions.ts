/** Sessions as agents' programs would have them: one client and one connection each, all in one pool. */

import type { Grant } from "../../src/wire/answers.ts";
import { type Client, connect } from "../../src/wire/client.ts";
import { needsOf } from "../peers/shapes.ts";

const POOL = "bench";
/** Long enough that no lease and no session ends by itself during a measurement. */
const TTL_MS = 600_000;

export interface Member extends AsyncDisposable {
  readonly id: string;
  readonly client: Client;
}

export async function joinSessions(
  socket: string,
  count: number,
  { prefix = "s", capabilities = [] }: { readonly prefix?: string; readonly capabilities?: readonly string[] } = {},
): Promise<readonly Member[]> {
  const members = Array.from({ length: count }, (_, no) => member(`${prefix}${no}`, connect({ socket })));
  await Promise.all(members.map(({ id, client }) => client.join(profile(id, capabilities))));
  return members;
}

const profile = (session: string, capabilities: readonly string[]) => ({
  session,
  pool: POOL,
  capabilities,
  ttlMs: TTL_MS,
});

const member = (id: string, client: Client): Member => ({
  id,
  client,
  [Symbol.asyncDispose]: () => client[Symbol.asyncDispose](),
});

export interface PlanShape {
  readonly count: number;
  readonly shape?: string;
  readonly size?: number;
  readonly requires?: readonly string[];
}

/** Submits a plan for the pool. */
export const submitPlan = (client: Client, shape: PlanShape) => submitText(client, planText(shape));

export const submitText = (client: Client, text: string) => client.submit({ text, file: "plan.json", directory: "/" });

/** A plan for the pool; tasks need nothing unless a shape is asked for. */
export function planText({ count, shape = "jobs", size = 1, requires = [] }: PlanShape): string {
  const entries = needsOf(shape, count, size).map((needs, no) => [
    `t${no}`,
    {
      prompt: "nothing",
      pool: POOL,
      ...(requires.length > 0 && { requires }),
      ...(needs.length > 0 && { needs: needs.map((each) => `t${each}`) }),
    },
  ]);
  return JSON.stringify({ name: "bench", tasks: Object.fromEntries(entries) });
}

export const completion = ({ run, task, fence, token }: Grant) => ({ run, task, fence, token });
