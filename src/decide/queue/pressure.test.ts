import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { task } from "../../../test/rig/builders.ts";
import { Floor } from "../../../test/rig/floor.ts";
import { always } from "../../../test/rig/property.ts";
import { PRIORITIES } from "../../domain/spec.ts";
import {
  HYSTERESIS,
  PRESSURE_MODES,
  PRESSURE_PRESETS,
  type PressureMode,
  pressureMode,
  workersAllowed,
} from "./pressure.ts";

const LIMITS = PRESSURE_PRESETS.standard;

describe("pressure", () => {
  test.each<[number, PressureMode]>([
    [0, "normal"],
    [4_999, "normal"],
    [5_000, "moderate"],
    [8_000, "high"],
    [9_500, "critical"],
    [99_999, "critical"],
  ])("with %i of 10000 queued is %s", (queued, mode) => {
    expect(pressureMode("normal", queued, LIMITS)).toBe(mode);
  });

  test.each<[PressureMode, number, PressureMode]>([
    ["moderate", 4_999, "moderate"],
    ["moderate", 4_500, "moderate"],
    ["moderate", 4_499, "normal"],
    ["critical", 9_000, "critical"],
    ["critical", 8_999, "high"],
    ["high", 7_499, "moderate"],
    ["critical", 0, "normal"],
  ])("that is %s stays or falls at %i to %s: five points below where it began", (from, queued, mode) => {
    expect(pressureMode(from, queued, LIMITS)).toBe(mode);
  });

  test("has the depth and the thresholds of its preset", () => {
    expect(pressureMode("normal", 300, PRESSURE_PRESETS.strict)).toBe("moderate");
    expect(pressureMode("normal", 850, PRESSURE_PRESETS.strict)).toBe("critical");
    expect(pressureMode("normal", 34_999, PRESSURE_PRESETS.permissive)).toBe("normal");
    expect(pressureMode("normal", 45_000, PRESSURE_PRESETS.permissive)).toBe("high");
  });

  test("never jumps about: a mode is left only when the queue is well below where it begins", async () => {
    await always(
      300,
      fc.property(fc.constantFrom(...PRESSURE_MODES), fc.nat(12_000), (from, queued) => {
        const to = pressureMode(from, queued, LIMITS);
        const [was, is] = [PRESSURE_MODES.indexOf(from), PRESSURE_MODES.indexOf(to)];
        if (is < was) expect(queued / LIMITS.depth).toBeLessThan((LIMITS.thresholds[is] as number) - HYSTERESIS);
        if (is > was) expect(queued / LIMITS.depth).toBeGreaterThanOrEqual(LIMITS.thresholds[is - 1] as number);
      }),
    );
  });

  test.each<[PressureMode, number]>([
    ["normal", 16],
    ["moderate", 12],
    ["high", 4],
    ["critical", 1],
  ])("that is %s lets %i of 16 work", (mode, allowed) => {
    expect(workersAllowed(mode, 16)).toBe(allowed);
    expect(workersAllowed(mode, 1)).toBe(1);
    expect(workersAllowed(mode, 0)).toBe(0);
  });
});

describe("under pressure", () => {
  const floorIn = (mode: PressureMode): Floor => {
    const floor = new Floor({ workers: 8 });
    floor.dispatcher.pressure = { mode, queued: 9, depth: 10 };
    floor.submit(PRIORITIES.flatMap((priority) => [0, 1, 2, 3].map((at) => task(`${priority}${at}`, { priority }))));
    return floor;
  };

  test.each<[PressureMode, number, readonly string[]]>([
    ["normal", 8, ["critical", "high", "normal", "low"]],
    ["moderate", 6, ["critical", "high", "normal", "low"]],
    ["high", 2, ["critical", "high", "normal"]],
    ["critical", 1, ["critical"]],
  ])("%s: %i go at once, and only %j", (mode, count, lanes) => {
    const floor = floorIn(mode);
    expect(floor.round()).toHaveLength(count);
    const seen = new Set<string>();
    // As long as a task is left that need not wait.
    const total = lanes.length * 4;
    for (let given = floor.held().length; ; given++) {
      for (const { task: each } of floor.held()) seen.add(each.spec.priority);
      if (given >= total) break;
      const [held] = floor.held();
      if (held !== undefined) floor.end(held.run, held.task);
      floor.round();
    }
    expect([...seen].sort()).toEqual([...lanes].sort());
  });

  test("what has to wait goes all the same when nothing else is left to do: a queue that stands still never empties", () => {
    const floor = new Floor({ workers: 8 });
    floor.dispatcher.pressure = { mode: "critical", queued: 9, depth: 10 };
    floor.submit([task("a"), task("b", { priority: "low" })]);
    expect(floor.round()).toEqual(["a"]);
    expect(floor.finish("a")).toEqual(["b"]);
  });
});
