import { availableParallelism, totalmem } from "node:os";
import { expect, test } from "vitest";
import { coreCount, hostName, machineCapacity } from "./machine.ts";

test("this machine has what the system lets us use, in whole units", () => {
  const { cpu, memory, gpu } = machineCapacity();
  expect(cpu).toBe(availableParallelism() * 1_000);
  expect(memory).toBeGreaterThan(0);
  expect(memory).toBeLessThanOrEqual(totalmem());
  expect(Number.isSafeInteger(memory)).toBe(true);
  expect(gpu).toBe(0);
});

test("it has a name and at least one core", () => {
  expect(hostName()).not.toBe("");
  expect(coreCount()).toBeGreaterThan(0);
});
