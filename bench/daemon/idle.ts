/** What a daemon costs while every session waits: a thousand sessions, each in a claim that nothing answers. */
import { setTimeout as pause } from "node:timers/promises";
import type { Served } from "./serve.ts";
import { joinSessions } from "./sessions.ts";
import { waitInVain } from "./waiting.ts";

const SETTLE_MS = 2_000;

export interface Idle {
  readonly sessions: number;
  readonly seconds: number;
  readonly cpuMs: number;
  /** Of one core. */
  readonly percent: number;
}

export async function idleCost(served: Served, sessions: number, seconds: number): Promise<Idle> {
  const members = await joinSessions(served.socket, sessions);
  await using _waiting = await waitInVain(members);
  await pause(SETTLE_MS);
  const before = await served.use();
  const start = performance.now();
  await pause(seconds * 1_000);
  const { cpuMs: after } = await served.use();
  const elapsed = performance.now() - start;
  const cpuMs = after - before.cpuMs;
  return { sessions, seconds, cpuMs, percent: (cpuMs * 100) / elapsed };
}
