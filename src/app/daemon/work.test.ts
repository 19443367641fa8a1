import { expect, test } from "vitest";
import { CALLER, openServerContext } from "../../../test/rig/server-context.ts";

test("the holder of a task past its soft limit hears when it is ended", async () => {
  const { rig, service, answer } = await openServerContext();
  await answer(service.join({ agent: "agents", session: "s", capabilities: [], slots: 1, ttlMs: 3_600_000 }, CALLER));
  const a = { prompt: "a", pool: "agents", timeout: { soft: "1m", hard: "10m" } };
  const text = JSON.stringify({ name: "plan", tasks: { a } });
  await answer(service.submit({ text, file: "/plan.json", directory: "/" }, CALLER));
  const grant = await answer(service.claim({ session: "s", waitMs: 0 }, CALLER));
  if (grant === undefined) throw new Error("there is nothing to claim");
  const { run, task, fence, token } = grant;
  const beat = () => answer(service.heartbeat({ run, task, fence, token }, CALLER));
  const begun = rig.clock.now();
  expect((await beat()).stop).toBeUndefined();
  await rig.clock.advance(60_000);
  expect((await beat()).stop).toEqual({ kind: "timeout", by: new Date(begun + 600_000).toISOString() });
});

test("no session is looked for when the waiting ones have taken every task that came", async () => {
  const { rig, service, answer } = await openServerContext();
  const plan = () => {
    const text = JSON.stringify({ name: "plan", tasks: { a: { prompt: "a", pool: "agents" } } });
    return answer(service.submit({ text, file: "/plan.json", directory: "/" }, CALLER));
  };
  const looked = async () => (await service.stats()).lastCycleAt;
  await answer(service.join({ agent: "agents", session: "s", capabilities: [], slots: 2 }, CALLER));
  await answer(service.cycle());
  const before = await looked();
  await rig.clock.advance(1_000);
  const claim = service.claim({ session: "s", waitMs: 60_000 }, CALLER);
  await plan();
  expect((await answer(claim))?.task).toBe("a");
  expect(await looked()).toBe(before);
  await plan();
  expect(await looked()).toBe(new Date(rig.clock.now()).toISOString());
});
