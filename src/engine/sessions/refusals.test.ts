import { expect, test } from "vitest";
import { CALLER, openServerContext } from "../../../test/rig/server-context.ts";

test("a task that a session refused goes to another session that fits, and comes back when all have refused it", async () => {
  const { service, answer } = await openServerContext();
  for (const session of ["s1", "s2"])
    await answer(service.join({ agent: "agents", session, capabilities: [], slots: 1 }, CALLER));
  const retry = { attempts: 5, backoff: "0s" };
  const text = JSON.stringify({ name: "plan", tasks: { a: { pool: "agents", prompt: "a", retry } } });
  await answer(service.submit({ text, file: "/plan.json", directory: "/" }, CALLER));
  const claim = (session: string, task?: string) =>
    answer(service.claim({ session, waitMs: 0, ...(task !== undefined && { task }) }, CALLER));
  const refuse = async (session: string, task?: string): Promise<void> => {
    const grant = await claim(session, task);
    if (grant === undefined) throw new Error("there is nothing to claim");
    const { run, task: of, fence, token } = grant;
    await answer(service.fail({ run, task: of, fence, token, kind: "refused", code: 1 }, CALLER));
  };
  await refuse("s1");
  expect(await claim("s1")).toBeUndefined();
  const waiting = service.claim({ session: "s1", waitMs: 60_000 }, CALLER);
  // Once all have refused it, it is theirs again: a task that no session takes must come to an end.
  await refuse("s2");
  expect(await answer(waiting)).toMatchObject({ task: "a", fence: 3 });
});
