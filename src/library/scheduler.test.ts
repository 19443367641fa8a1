import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { freshDir } from "../../test/rig/cli.ts";
import { refusal } from "../../test/rig/sessions.ts";
import { type Client, connect, type Grant, openScheduler, type SchedulerOptions, type WakeTarget } from "../index.ts";

/** A scheduler that wakes no session by itself, and a session in the pool `agents`. */
async function house(options: SchedulerOptions = {}) {
  const rota = await openScheduler({ manual: true, workers: 2, ...options });
  onTestFinished(() => rota[Symbol.asyncDispose]());
  const join = (session: string, capabilities: string[] = []) =>
    rota.client.join({ session, agent: "claude", pool: "agents", capabilities });
  const submit = (tasks: object): Promise<{ readonly run: string }> =>
    rota.client.submit({ text: JSON.stringify({ tasks }), file: "/plan.json", directory: "/" });
  return { rota, wakes: rota.wakes, client: rota.client, join, submit };
}

const PROMPT = { pool: "agents", prompt: "Do it." };

const done = (client: Client, { run, task, fence, token }: Grant, summary: string) =>
  client.complete({ run, task, fence, token, summary });

describe("a scheduler within a program", () => {
  test("runs plans of functions, commands and tasks for sessions, which the program itself may be", async () => {
    const { rota, client, join } = await house({
      manual: false,
      functions: { sum: ({ needs }) => ({ result: `${needs["draft"]?.summary}, ${needs["build"]?.state}` }) },
    });
    await join("s1");
    const ran = rota.run({
      name: "book",
      tasks: { draft: PROMPT, build: { run: "true" }, sum: { call: "sum", needs: ["draft", "build"] } },
    });
    const grant = await client.claim({ session: "s1", waitMs: 30_000 });
    expect(grant).toMatchObject({ task: "draft", prompt: "Do it." });
    await done(client, grant as Grant, "six pages");
    const { outcome, tasks } = await ran;
    expect(outcome).toBe("succeeded");
    expect(tasks.sum.result).toBe("six pages, succeeded");
  });

  test("is reached by other programs through its state directory, and goes on with what was left there", async () => {
    const state = join(freshDir(), "state");
    const first = await openScheduler({
      state,
      functions: { slow: () => new Promise(() => {}) },
      settings: { grace: "0s" },
    });
    const other = connect({ state });
    const { run } = await other.submit({ text: '{"tasks":{"a":{"call":"slow"}}}', file: "/p.json", directory: "/" });
    await first[Symbol.asyncDispose]();
    await other[Symbol.asyncDispose]();
    const { client } = await house({ state, functions: { slow: () => "at last" } });
    expect(await client.await(run, 30_000)).toEqual({ run, outcome: "succeeded" });
  });

  test("gives a function what an earlier run had done, when only the rest is tried again", async () => {
    let fails = true;
    const { rota, client } = await house({
      functions: {
        fetch: () => ({ result: [1, 2] }),
        sum: ({ needs }) => {
          if (fails) throw new Error("not today");
          return { result: needs["fetch"]?.result };
        },
      },
    });
    const { run } = await rota.run({ tasks: { fetch: { call: "fetch" }, sum: { call: "sum", needs: ["fetch"] } } });
    const again = await client.retry({ run });
    await client.await(again.run, 30_000);
    fails = false;
    const third = await client.retry({ run: again.run });
    await client.await(third.run, 30_000);
    const events = await client.events({ run: third.run });
    expect(events.find(({ kind }) => kind === "succeeded")).toMatchObject({
      task: "sum",
      outcome: { result: [1, 2] },
    });
  });

  test("says when each of its workers was given its first task, and no more than once", async () => {
    const { rota, client } = await house({ workers: 3 });
    await rota.run({
      tasks: { a: { run: "true" }, b: { run: "true", needs: ["a"] }, c: { run: "true", needs: ["b"] } },
    });
    const events = await client.events({});
    const started = events.filter(({ kind }) => kind === "worker_started");
    expect(started).toMatchObject([{ worker: "local/1", node: "local" }]);
    expect(events.map(({ kind }) => kind).slice(0, 3)).toEqual(["run_submitted", "worker_started", "claimed"]);
    const workers = await client.workers();
    expect(workers.map(({ worker, started_at }) => [worker, started_at])).toEqual([
      ["local/1", started[0]?.at],
      ["local/2", undefined],
      ["local/3", undefined],
    ]);
  });

  test("has its functions from the beginning: a function in a plan is refused, and so is the name of a missing one", async () => {
    const { rota, submit } = await house();
    expect(await refusal(rota.run({ tasks: { a: { run: () => "late" } } }))).toBe("USAGE");
    expect(await refusal(submit({ a: { call: "nothing" } }))).toBe("PLAN_INVALID");
  });
});

describe("the wake scheduler", () => {
  test("wakes with a waker of the program's own, one session at a time; one it cannot reach does not keep others from theirs", async () => {
    const woken: WakeTarget[] = [];
    const { wakes, join, submit } = await house({
      waker: {
        wake: (target) => {
          if (target.session === "s1") throw new Error("no such terminal");
          woken.push(target);
        },
      },
    });
    for (const session of ["s1", "s2"]) await join(session);
    const { run } = await submit({ a: { ...PROMPT, title: "First" }, b: PROMPT });
    const report = await wakes.runOnce();
    expect(report).toMatchObject({ wakeFailures: 1, woken: [{ session: "s2" }], wakeErrors: ["s1: no such terminal"] });
    expect(woken).toMatchObject([{ session: "s2", run, pool: "agents", reason: "offered", requires: [] }]);
    expect(wakes.stats()).toMatchObject({
      cycles: 1,
      wakes: 1,
      wakeFailures: 1,
      lastWakeError: "s1: no such terminal",
    });
  });

  test("gives a batch waker all targets at once, and takes an answer for each", async () => {
    const batches: (readonly WakeTarget[])[] = [];
    let answers: readonly (Error | undefined)[] = [new Error("asleep"), undefined];
    const waker = {
      wakeMany: (targets: readonly WakeTarget[]) => {
        batches.push(targets);
        return answers;
      },
    };
    const { wakes, join, submit } = await house({ waker, settings: { wakeCooldown: "0s" } });
    for (const session of ["s1", "s2"]) await join(session);
    await submit({ a: PROMPT, b: PROMPT });
    const first = await wakes.runOnce();
    expect(batches.map((targets) => targets.map(({ session, task }) => `${session}: ${task}`))).toEqual([
      ["s1: a", "s2: b"],
    ]);
    expect(first).toMatchObject({ wakeFailures: 1, woken: [{ session: "s2", task: expect.stringContaining("/b") }] });
    answers = [];
    expect((await wakes.runOnce()).wakeErrors).toEqual(["s1: the waker did not answer for every target"]);
  });

  test("tells a session that listens by itself, and leaves the others to the waker", async () => {
    const woken: string[] = [];
    const { wakes, client, join, submit } = await house({ waker: { wake: ({ session }) => void woken.push(session) } });
    for (const session of ["s1", "s2"]) await join(session);
    const heard = client.wake("s1", 30_000);
    await submit({ a: PROMPT, b: PROMPT });
    let report = await wakes.runOnce();
    // A session that listens only now finds its offer by itself.
    while (report.active + woken.length === 0) report = await wakes.runOnce();
    expect(await heard).toMatchObject({ task: "a" });
    expect(woken).toEqual(["s2"]);
  });

  test("holds its wakes while the program's pause store says so, and deals with what went wrong there as with no pause", async () => {
    let isPaused: boolean | Error = true;
    const pauses = {
      isPaused: async () => {
        if (isPaused instanceof Error) throw isPaused;
        return isPaused;
      },
    };
    const { wakes, join, submit } = await house({ pauses, waker: { wake: () => {} } });
    await join("s1");
    await submit({ a: PROMPT });
    expect(await wakes.runOnce()).toMatchObject({ paused: true, pending: 1, woken: [] });
    isPaused = new Error("the file is locked");
    expect(await wakes.runOnce()).toMatchObject({
      paused: false,
      woken: [{ session: "s1" }],
      errors: ["pause: the file is locked"],
    });
  });

  test("climbs its ladder with the actor of the program, which is called again where it failed", async () => {
    const heard: string[] = [];
    let fails = true;
    const { wakes, submit } = await house({
      settings: { starvingAge: "0s", ladder: [1, 1, 2, 4] },
      escalation: {
        spawn: ({ task, requires }) => {
          heard.push(`spawn ${task} ${requires.join()}`);
          return true;
        },
        starved: ({ task }) => {
          if (fails) throw new Error("the pager is busy");
          heard.push(`starved ${task}`);
        },
        parked: ({ pool, task }, message) => void heard.push(`parked ${task} of ${pool} ${message.slice(-14)}`),
      },
    });
    const { run } = await submit({ a: { ...PROMPT, requires: ["gpu"] } });
    expect((await wakes.runOnce()).spawned).toEqual([`${run}/a`]);
    expect(await wakes.runOnce()).toMatchObject({ starved: [`${run}/a`], errors: [`${run}/a: the pager is busy`] });
    fails = false;
    expect((await wakes.runOnce()).errors).toEqual([]);
    expect((await wakes.runOnce()).parked).toEqual([`${run}/a`]);
    // What was heard is not told again.
    await wakes.runOnce();
    expect(heard).toEqual(["spawn a gpu", "starved a", "parked a of agents after 4 cycles"]);
    expect(wakes.stats()).toMatchObject({ cycles: 5, starved: 1, spawned: 1, parked: 1 });
  });

  test("forgets whom it woke when it is rebuilt, and ends for good when it is shut down", async () => {
    const { wakes, join, submit } = await house({ waker: { wake: () => {} }, settings: { offerTtl: "10ms" } });
    await join("s1");
    await submit({ a: PROMPT });
    expect((await wakes.runOnce()).woken).toHaveLength(1);
    expect(await wakes.rebuild()).toMatchObject({ pending: 1, active: 0, sessions: 1, clearedWakes: 1 });
    expect(wakes.stats()).toMatchObject({ rebuilds: 1 });
    await wakes.shutdown(1_000);
    expect(await refusal(wakes.runOnce())).toBe("DAEMON_STOPPING");
    expect(() => wakes.start()).toThrow("shut down");
  });
});
