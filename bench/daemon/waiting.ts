/** Sessions that wait for something that does not come. */
import { setTimeout as pause } from "node:timers/promises";
import type { Member } from "./sessions.ts";

const WAIT_MS = 600_000;
/** All of them have asked by then. */
const ASKED_MS = 1_000;

/** Each has one claim underway until this is disposed of. */
export async function waitInVain(members: readonly Member[]): Promise<AsyncDisposable> {
  const over = new AbortController();
  const waits = members.map(({ id, client }) =>
    client.claim({ session: id, waitMs: WAIT_MS }, { signal: over.signal }).then(
      () => over.signal.aborted || Promise.reject(new Error(`${id} was given something`)),
      (error: unknown) => over.signal.aborted || Promise.reject(error as Error),
    ),
  );
  await Promise.race([pause(ASKED_MS), Promise.all(waits)]);
  return {
    async [Symbol.asyncDispose]() {
      over.abort();
      await Promise.all(waits);
      for (const { client } of members) client.close();
    },
  };
}
