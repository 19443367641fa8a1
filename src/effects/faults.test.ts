import type { EventEmitter } from "node:events";
import { expect, test } from "vitest";
import { hearFaults } from "./faults.ts";

/** As the platform tells of an error that no caller has caught. */
const fault = (error: Error): void => void (process as EventEmitter).emit("uncaughtException", error);

test("a fault is heard by all, the newest first, and each learns whether a newer one ends everything in order", () => {
  // The test's own runner hears of faults, too.
  const others = process.listeners("uncaughtException");
  process.removeAllListeners("uncaughtException");
  const heard: unknown[] = [];
  try {
    using _older = hearFaults((error, endsInOrder) => heard.push(["older", (error as Error).message, endsInOrder]) > 0);
    {
      using _newer = hearFaults(
        (error, endsInOrder) => heard.push(["newer", (error as Error).message, endsInOrder]) > 0,
      );
      fault(new Error("one"));
    }
    fault(new Error("two"));
  } finally {
    for (const other of others) process.on("uncaughtException", other);
  }
  expect(heard).toEqual([
    ["newer", "one", false],
    ["older", "one", true],
    ["older", "two", false],
  ]);
  expect(process.listeners("uncaughtException")).toEqual(others);
});
