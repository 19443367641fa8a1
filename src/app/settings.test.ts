/** Every setting of the order in which things are done changes that order: from what a user writes to what is started. */
import { describe, expect, test, vi } from "vitest";
import { task } from "../../test/rig/builders.ts";
import { freshDir } from "../../test/rig/cli.ts";
import { ManualClock } from "../../test/rig/clock.ts";
import { openRig, type Rig } from "../../test/rig/rig.ts";
import { refusal } from "../../test/rig/sessions.ts";
import { pollInterval } from "../cli/frame/poll.ts";
import type { Priority, TaskSpec } from "../domain/spec.ts";
import { answerBell } from "./agents/bell.ts";
import { loadConfig } from "./config/config.ts";
import { stateDir } from "./config/state.ts";
import { engineOptions } from "./scheduler.ts";

async function rigWith(env: Readonly<Record<string, string>>, workers = 1): Promise<Rig> {
  const { values } = await loadConfig({ cwd: freshDir(), env, flags: {} });
  return await openRig({ ...engineOptions(values), workers });
}
const many = (count: number, priority: Priority, name: string): readonly TaskSpec[] =>
  Array.from({ length: count }, (_, at) => task(`${name}${at}`, { priority }));

/** One task after the other, each a second long. Gives the started tasks, in order. */
async function work(rig: Rig, count: number): Promise<readonly string[]> {
  for (let ended = 0; ended < count; ended++) {
    const [id] = rig.machine.running;
    if (id === undefined) break;
    await rig.clock.advance(1_000);
    rig.machine.at(id).succeeds();
    await rig.clock.settle();
  }
  return rig.machine.started;
}

const boosts = (rig: Rig): number => rig.told.filter(({ kind }) => kind === "aged_boost").length;

describe("priorities", () => {
  const plan = [...many(40, "critical", "c"), ...many(9, "low", "l")];

  test("as shares let a low task go now and then", async () => {
    const rig = await rigWith({});
    await rig.submit(plan);
    expect((await work(rig, 25)).some((id) => id.startsWith("l"))).toBe(true);
  });

  test("that are strict do not, until it is old", async () => {
    const rig = await rigWith({ ROTA_PRIORITIES: "strict" });
    await rig.submit(plan);
    expect((await work(rig, 25)).some((id) => id.startsWith("l"))).toBe(false);
  });
});

describe("patience", () => {
  const squeezed = async (env: Readonly<Record<string, string>>, count: number): Promise<Rig> => {
    const rig = await rigWith({ ROTA_PRIORITIES: "strict", ...env });
    await rig.submit([...many(1, "low", "l"), ...many(400, "critical", "c")]);
    await work(rig, count);
    return rig;
  };

  test("lasts for a hundred starts and a minute, whichever is later", async () => {
    expect(boosts(await squeezed({}, 98))).toBe(0);
    expect(boosts(await squeezed({}, 102))).toBe(1);
  });

  test("in starts, when it is shorter, lets a task move up sooner", async () => {
    expect(boosts(await squeezed({ ROTA_PATIENCE_DISPATCHES: "20" }, 58))).toBe(0);
    expect(boosts(await squeezed({ ROTA_PATIENCE_DISPATCHES: "20" }, 62))).toBe(1);
  });

  test("in time, when it is longer, lets it move up later", async () => {
    expect(boosts(await squeezed({ ROTA_PATIENCE_WAIT: "2m" }, 118))).toBe(0);
    expect(boosts(await squeezed({ ROTA_PATIENCE_WAIT: "2m" }, 122))).toBe(1);
  });

  test("leaves one event for each lane, and in the end the task goes", async () => {
    const rig = await squeezed({ ROTA_PATIENCE_DISPATCHES: "5", ROTA_PATIENCE_WAIT: "10s" }, 35);
    expect(boosts(rig)).toBe(3);
    expect(rig.machine.started).toContain("l0");
  });
});

describe("pressure", () => {
  const plan = many(700, "normal", "t");

  test.each([
    ["off", 8, "normal"],
    ["permissive", 8, "normal"],
    ["standard", 8, "normal"],
    ["strict", 2, "high"],
  ])("%s lets %i of 8 run with 700 queued", async (pressure, running, mode) => {
    const rig = await rigWith({ ROTA_PRESSURE: pressure }, 8);
    await rig.submit(plan);
    expect(rig.machine.running).toHaveLength(running);
    expect(rig.engine.dispatcher.mode).toBe(mode);
  });
});

describe("pollInterval", () => {
  test.each([
    ["unless it is set", {}, 500],
    ["as it is set", { ROTA_POLL_INTERVAL: "40ms" }, 40],
  ])("is how often a scheduler looks at files that cannot be watched, %s", async (_, env, every) => {
    const { values } = await loadConfig({ cwd: freshDir(), env, flags: {} });
    const state = stateDir(freshDir());
    const clock = new ManualClock();
    const rung = vi.fn();
    // There is no database yet, which cannot be watched.
    using _bell = answerBell({ state, clock, poll: values.pollInterval, rung, gone: vi.fn() });
    await clock.advance(every - 1);
    expect(rung).not.toHaveBeenCalled();
    await clock.advance(1);
    expect(rung).toHaveBeenCalledTimes(1);
    await clock.advance(every);
    expect(rung).toHaveBeenCalledTimes(2);
  });

  test("is read by the commands that follow, which refuse a value that is none", async () => {
    const context = { cwd: freshDir(), env: { ROTA_POLL_INTERVAL: "2s" } };
    expect(await pollInterval(context)).toBe(2_000);
    expect(await refusal(pollInterval({ ...context, env: { ROTA_POLL_INTERVAL: "often" } }))).toBe("CONFIG_INVALID");
  });
});
