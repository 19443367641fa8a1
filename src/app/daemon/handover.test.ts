import { readFileSync, statSync } from "node:fs";
import { expect, test } from "vitest";
import { CALLER, openServerContext } from "../../../test/rig/server-context.ts";
import type { Grant } from "../../wire/answers.ts";

const TTL = 60_000;

/** A pool with one task, and two sessions for it. */
async function openPool(task: object) {
  const context = await openServerContext();
  const { service, answer, rig } = context;
  for (const session of ["s1", "s2"])
    await answer(service.join({ agent: "agents", session, capabilities: [], slots: 1, ttlMs: TTL }, CALLER));
  const retry = { attempts: 5, backoff: "0s" };
  const text = JSON.stringify({ name: "plan", tasks: { a: { pool: "agents", retry, ...task } } });
  await answer(service.submit({ text, file: "/plan.json", directory: "/" }, CALLER));
  const claim = async (session: string): Promise<Grant> => {
    const grant = await answer(service.claim({ session, waitMs: 0 }, CALLER));
    if (grant === undefined) throw new Error("there is nothing to claim");
    return grant;
  };
  const lease = ({ run, task: of, fence, token }: Grant) => ({ run, task: of, fence, token });
  return { ...context, rig, claim, lease };
}

test("a claim says how the attempt before it ended: failed, released, limited or lost", async () => {
  const { service, answer, claim, lease, rig } = await openPool({ prompt: "a" });
  const first = await claim("s1");
  expect(first).not.toHaveProperty("previous");
  await answer(service.progress({ ...lease(first), note: "half way" }, CALLER));
  await answer(service.fail({ ...lease(first), kind: "exit", code: 3, message: "broken" }, CALLER));

  const second = await claim("s2");
  expect(second.previous).toEqual({
    attempt: 1,
    worker: "s1",
    ended: "retried",
    why: "exit code 3: broken",
    note: "half way",
    at: new Date(rig.clock.now()).toISOString(),
  });
  await answer(service.release({ ...lease(second), why: "not mine" }, CALLER));

  const third = await claim("s1");
  expect(third.previous).toMatchObject({ attempt: 2, worker: "s2", ended: "released", why: "not mine" });
  expect(third.previous).not.toHaveProperty("note");
  await answer(service.fail({ ...lease(third), kind: "rate-limit", code: 1, resetMs: 1_000 }, CALLER));
  await rig.clock.advance(1_000);

  const fourth = await claim("s2");
  expect(fourth.previous).toMatchObject({ ended: "retried", why: "rate limited" });
  await rig.clock.advance(TTL + 1_000);
  const fifth = await claim("s1");
  expect(fifth.previous).toMatchObject({ attempt: 4, worker: "s2", ended: "lost", why: expect.stringMatching(/./) });
});

test("a prompt over 10 KB is also in a file, which only its owner can read", async () => {
  const prompt = "x".repeat(10 * 1024 + 1);
  const { claim } = await openPool({ prompt });
  const { prompt_file: file = "", prompt: inline } = await claim("s1");
  expect(inline).toBe(prompt);
  expect(readFileSync(file, "utf8")).toBe(prompt);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test("a shorter prompt is in no file", async () => {
  const { claim } = await openPool({ prompt: "x".repeat(10 * 1024) });
  expect(await claim("s1")).not.toHaveProperty("prompt_file");
});
