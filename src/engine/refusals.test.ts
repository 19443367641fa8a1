import { expect, test } from "vitest";
import { CALLER, openDesk } from "../../test/rig/desk.ts";
import type { Grant } from "../wire/answers.ts";

test("a task that a session refused goes to another one, and to the same one only if it asks for it by name", async () => {
  const { service, answer } = await openDesk();
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
  await answer(service.pause({ pool: "agents" }, CALLER));
  const [waiting, served] = ["s1", "s2"].map((session) => service.claim({ session, waitMs: 60_000 }, CALLER));
  await answer(service.resume({ pool: "agents" }, CALLER));
  // A session that waits in vain keeps no other from it.
  const { run, task, fence, token } = (await answer(served as Promise<Grant>)) as Grant;
  await answer(service.fail({ run, task, fence, token, kind: "refused", code: 1 }, CALLER));
  expect(await claim("s2")).toBeUndefined();
  await refuse("s2", "a");
  await answer(service.leave("s1", CALLER));
  expect(await answer(waiting as Promise<unknown>)).toBeUndefined();
});
