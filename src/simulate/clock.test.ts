import { expect, test } from "vitest";
import { instant } from "../domain/time.ts";
import { NEVER, VirtualClock } from "./clock.ts";

test("time goes from one alarm to the next, in their order, and those of one moment in the order they were set", async () => {
  const clock = new VirtualClock();
  const heard: string[] = [];
  const set = (at: number, name: string): void =>
    void clock.at(instant(at), () => heard.push(`${name}@${clock.now()}`));
  for (const [at, name] of [
    [50, "c"],
    [10, "a"],
    [50, "d"],
    [20, "b"],
  ] as const)
    set(at, name);
  clock.at(instant(30), () => heard.push("cancelled")).cancel();
  await clock.run(() => false);
  expect(heard).toEqual(["a@10", "b@20", "c@50", "d@50"]);
});

test("nothing is late: what follows from an alarm happens before the next one, however many promises lie between", async () => {
  const clock = new VirtualClock();
  const heard: number[] = [];
  const deep = async (depth: number): Promise<void> => {
    for (let step = 0; step < depth; step++) await Promise.resolve();
    clock.soon(() => heard.push(clock.now()));
  };
  clock.at(instant(1), () => void deep(100));
  clock.at(instant(2), () => {});
  await clock.run(() => false);
  expect(heard).toEqual([1]);
});

test("what is waited for is given as soon as it is there, and not when it can never come", async () => {
  const clock = new VirtualClock();
  const { promise, resolve } = Promise.withResolvers<string>();
  clock.at(instant(5), () => resolve("there"));
  clock.at(instant(9), () => {});
  expect(await clock.passUntil(promise)).toBe("there");
  expect(clock.now()).toBe(5);
  clock.at(NEVER, () => {});
  expect(await clock.passUntil(new Promise(() => {}))).toBeUndefined();
  expect(clock.now()).toBe(9);
  await expect(clock.passUntil(Promise.reject(new Error("broken")))).rejects.toThrow("broken");
});
