/** Every setting of pools and sessions has an effect: from what a user writes to what the daemon does. */
import { describe, expect, test } from "vitest";
import { CALLER, openServerContext, type ServerContext } from "../../../test/rig/server-context.ts";
import { millis } from "../../domain/time.ts";
import type { Grant } from "../../wire/answers.ts";
import type { Service } from "../../wire/service.ts";

const plan = (tasks: object): Parameters<Service["submit"]>[0] => ({
  text: JSON.stringify({ name: "plan", defaults: { pool: "agents" }, tasks }),
  file: "/plan.json",
  directory: "/",
});
const ONE = plan({ a: { prompt: "a" } });
const JOIN = { agent: "agents", session: "s", capabilities: [], slots: 1 };

async function withSession(env: Readonly<Record<string, string>>): Promise<ServerContext> {
  const context = await openServerContext(env);
  await context.answer(context.service.join(JOIN, CALLER));
  return context;
}

const claimOf = (session = "s") => ({ session, waitMs: 0 });
const count = (context: ServerContext, kind: string): number => context.says().filter((each) => each === kind).length;

test("sessionTtl is how long a session keeps a task without a sign of life", async () => {
  for (const [env, span] of [
    [{}, 300_000],
    [{ ROTA_SESSION_TTL: "7s" }, 7_000],
  ] as const) {
    const context = await withSession(env);
    await context.answer(context.service.submit(ONE, CALLER));
    await context.answer(context.service.claim(claimOf(), CALLER));
    await context.rig.clock.advance(span);
    expect(context.says()).not.toContain("expired");
    await context.rig.clock.advance(1);
    expect(context.says()).toContain("expired");
  }
});

describe("pools", () => {
  const push = { ROTA_POOLS: '{"agents": {"mode": "push"}}' };

  test("that push assign, and refuse who claims", async () => {
    const context = await withSession(push);
    await context.answer(context.service.submit(ONE, CALLER));
    expect(await context.answer(context.service.assignment("s", 0, CALLER))).toMatchObject({ task: "a" });
    const refused = expect(context.service.claim(claimOf(), CALLER)).rejects.toMatchObject({
      code: "SELF_CLAIM_DISABLED",
    });
    await context.answer(refused);
  });

  test("that push take back what is not begun within ackTimeout", async () => {
    for (const [env, span] of [
      [push, 10_000],
      [{ ...push, ROTA_ACK_TIMEOUT: "3s" }, 3_000],
    ] as const) {
      const context = await withSession(env);
      await context.answer(context.service.submit(ONE, CALLER));
      await context.rig.clock.advance(span);
      expect(count(context, "released")).toBe(0);
      await context.rig.clock.advance(1);
      expect(count(context, "released")).toBe(1);
    }
  });

  test("wake a session that does not listen with a command of theirs, and it is not woken for the same task for wakeCooldown", async () => {
    const wake = '{"agents": {"wake": ["ring", "bell"]}}';
    for (const [env, wakes] of [
      [{ ROTA_POOLS: wake, ROTA_OFFER_TTL: "10s" }, 1],
      [{ ROTA_POOLS: wake, ROTA_OFFER_TTL: "10s", ROTA_WAKE_COOLDOWN: "0s" }, 4],
    ] as const) {
      const context = await withSession(env);
      await context.answer(context.service.submit(ONE, CALLER));
      await context.rig.clock.advance(35_000);
      expect(context.calls).toEqual(Array(wakes).fill("ring bell a"));
    }
  });

  test("start a worker that covers what a task requires, once no session came", async () => {
    const task = plan({ a: { prompt: "a", requires: ["gpu"] } });
    for (const [covers, calls] of [
      [["gpu"], ["make one a"]],
      [["cpu"], []],
    ] as const) {
      const pools = JSON.stringify({ agents: { spawn: ["make", "one"], covers } });
      const context = await openServerContext({ ROTA_POOLS: pools });
      await context.answer(context.service.submit(task, CALLER));
      await context.rig.clock.advance(4 * 60_000);
      expect(context.calls).toEqual(calls);
    }
  });
});

test("stuckAfter is how long the holder of a pool's task may say nothing before that is told", async () => {
  for (const [env, span] of [
    [{}, 300_000],
    [{ ROTA_STUCK_AFTER: "1m" }, 60_000],
  ] as const) {
    const context = await withSession({ ROTA_SESSION_TTL: "1h", ...env });
    await context.answer(context.service.submit(ONE, CALLER));
    const { run, task, fence, token } = (await context.answer(context.service.claim(claimOf(), CALLER))) as Grant;
    await context.answer(context.service.start({ run, task, fence, token }, CALLER));
    await context.rig.clock.advance(span - 1);
    expect(count(context, "silent")).toBe(0);
    await context.rig.clock.advance(1);
    expect(count(context, "silent")).toBe(1);
  }
});

test("wakeReason is what a session is told when it is woken", async () => {
  for (const [env, why] of [
    [{}, "a task waits that this session can claim"],
    [{ ROTA_WAKE_REASON: "work for you" }, "work for you"],
  ] as const) {
    const context = await withSession(env);
    const wake = context.service.wake("s", 60_000, CALLER);
    await context.answer(context.service.submit(ONE, CALLER));
    expect(await context.answer(wake)).toMatchObject({ task: "a", why });
  }
});

test("sweepLimit and sweepReason say how much one look takes back, and what the ledger says of it", async () => {
  for (const [env, swept, why] of [
    [{}, 2, "it was not heard of any more"],
    [{ ROTA_SWEEP_LIMIT: "1", ROTA_SWEEP_REASON: "gone" }, 1, "gone"],
  ] as const) {
    const context = await withSession({ ROTA_SESSION_TTL: "10s", ...env });
    await context.answer(context.service.join({ ...JOIN, session: "t" }, CALLER));
    await context.answer(context.service.submit(plan({ a: { prompt: "a" }, b: { prompt: "b" } }), CALLER));
    for (const session of ["s", "t"]) await context.answer(context.service.claim(claimOf(session), CALLER));
    await context.rig.clock.advance(9_000);
    // The time passes before the next turn looks at its deadlines.
    const cycle = Promise.resolve(context.service.cycle());
    await context.rig.clock.sleep(millis(2_000));
    expect((await context.answer(cycle)).recovered).toHaveLength(swept);
    expect(context.rig.told).toContainEqual(expect.objectContaining({ kind: "expired", why }));
  }
});

test("offerTtl is how long a task is kept for the session that was woken for it", async () => {
  for (const [env, span] of [
    [{}, 30_000],
    [{ ROTA_OFFER_TTL: "5s" }, 5_000],
  ] as const) {
    const context = await withSession({ ROTA_POOLS: '{"agents": {"wake": ["ring"]}}', ...env });
    await context.answer(context.service.submit(ONE, CALLER));
    await context.answer(context.service.join({ ...JOIN, session: "other" }, CALLER));
    expect(await context.answer(context.service.claim(claimOf("other"), CALLER))).toBeUndefined();
    await context.rig.clock.advance(span + 1);
    expect(await context.answer(context.service.claim(claimOf("other"), CALLER))).toMatchObject({ task: "a" });
  }
});

describe("a task for which no session comes", () => {
  /** After this span no session has come for the task, and none could. */
  async function starvedFor(env: Readonly<Record<string, string>>, ms: number): Promise<ServerContext> {
    const context = await openServerContext(env);
    await context.answer(context.service.submit(ONE, CALLER));
    await context.rig.clock.advance(ms);
    return context;
  }

  test("starves after starvingAge", async () => {
    expect(count(await starvedFor({}, 119_000), "starving")).toBe(0);
    expect(count(await starvedFor({}, 121_000), "starving")).toBe(1);
    expect(count(await starvedFor({ ROTA_STARVING_AGE: "20s" }, 31_000), "starving")).toBe(1);
  });

  test("climbs with every wakeInterval", async () => {
    const soon = { ROTA_STARVING_AGE: "0s" };
    expect(count(await starvedFor(soon, 61_000), "starving")).toBe(4);
    expect(count(await starvedFor({ ...soon, ROTA_WAKE_INTERVAL: "5s" }, 31_000), "starving")).toBe(6);
  });

  test("is told about and parked where the ladder says so", async () => {
    const soon = { ROTA_STARVING_AGE: "0s", ROTA_WAKE_INTERVAL: "1s" };
    const usual = await starvedFor(soon, 9_500);
    expect([count(usual, "starved"), count(usual, "parked")]).toEqual([1, 0]);
    const short = await starvedFor({ ...soon, ROTA_LADDER: "1 1 2 3" }, 3_500);
    expect([count(short, "starved"), count(short, "parked")]).toEqual([1, 1]);
  });
});

test("the same key gives the same answer for a day, and is forgotten then", async () => {
  const context = await withSession({});
  const submit = () => context.answer(context.service.submit({ ...ONE, key: "k" }, CALLER));
  const { run } = await submit();
  await context.rig.clock.advance(23 * 3_600_000);
  await context.answer(context.service.beat("s", { state: "busy" }, CALLER).catch(() => undefined));
  expect(await submit()).toEqual({ run, tasks: 1, repeated: true });
  await context.rig.clock.advance(2 * 3_600_000);
  await context.answer(context.service.join({ ...JOIN, session: "later" }, CALLER));
  expect((await submit()).repeated).toBe(false);
});
