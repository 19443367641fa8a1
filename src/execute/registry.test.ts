import { expect, test } from "vitest";
import { task } from "../../test/rig/builders.ts";
import { Machine } from "../../test/rig/machine.ts";
import { openRig } from "../../test/rig/rig.ts";
import { kindOf } from "../app/crew.ts";
import { workerId } from "../domain/ids.ts";
import { shell, told } from "./conformance.ts";
import type { Attempt, Executor } from "./executor.ts";
import { openRegistry } from "./registry.ts";

const at = (worker: string, fence = 1): Attempt =>
  shell("/plan", "true", { fence, where: { worker: workerId(worker), node: "local", directory: "/plan" } });

/** Notes what is asked of it. */
function noting(name: string, heard: string[]): Executor {
  const machine = new Machine().executor();
  return {
    start: (attempt, watch) => {
      heard.push(`${name} starts for ${attempt.where.worker}`);
      return machine.start(attempt, watch);
    },
    adopt: async (attempt) => {
      heard.push(`${name} adopts for ${attempt.where.worker}`);
      return undefined;
    },
    sweep: async () => 2,
    leave: () => void heard.push(`${name} leaves`),
    [Symbol.asyncDispose]: async () => void heard.push(`${name} ends`),
  };
}

function openTwo(heard: string[]): Executor {
  const byWorker = ({ where }: Attempt) => where.worker.split("/")[0];
  return openRegistry({ cpu: noting("cpu", heard), gpu: noting("gpu", heard) }, byWorker);
}

test("the worker of a claim decides which executor does its work, and takes it over", async () => {
  const heard: string[] = [];
  const registry = openTwo(heard);
  registry.start(at("cpu/1"), told());
  registry.start(at("gpu/7", 2), told());
  await registry.adopt(at("gpu/1"), undefined, told());
  expect(heard).toEqual(["cpu starts for cpu/1", "gpu starts for gpu/7", "gpu adopts for gpu/1"]);
});

test("the work itself decides as well: functions are called by one executor, whichever worker claims them", () => {
  const heard: string[] = [];
  const registry = openRegistry({ function: noting("function", heard), process: noting("process", heard) }, kindOf);
  registry.start(at("local/1"), told());
  registry.start({ ...at("local/1", 2), work: { call: "fetch" } }, told());
  expect(heard).toEqual(["process starts for local/1", "function starts for local/1"]);
  expect(() => registry.start(at("big/1", 3), told())).toThrow("there is an executor");
});

test("nothing is found again of a worker of an unknown kind, and nothing is begun for one", async () => {
  const registry = openTwo([]);
  expect(await registry.adopt(at("tpu/1"), undefined, told())).toBeUndefined();
  expect(() => registry.start(at("tpu/1"), told())).toThrow("there is an executor for what tpu/1 claims");
});

test("all executors are swept, left and disposed of", async () => {
  const heard: string[] = [];
  const registry = openTwo(heard);
  expect(await registry.sweep()).toBe(4);
  registry.leave?.();
  await registry[Symbol.asyncDispose]();
  expect(heard).toEqual(["cpu leaves", "gpu leaves", "cpu ends", "gpu ends"]);
});

test("what was eligible at a node is done there: its worker, its node and its directory reach the executor", async () => {
  const rig = await openRig({
    workers: 1,
    capabilities: ["disk"],
    others: [{ name: "big", workers: [workerId("big/1")], capacity: {}, capabilities: ["gpu"] }],
  });
  await rig.submit([
    task("a", { requires: ["gpu"], cwd: "app/" }),
    task("b", { requires: ["disk"], verify: { shell: "true" } }),
  ]);
  expect(rig.machine.at("a").attempt.where).toEqual({ worker: "big/1", node: "big", directory: "/plan/app" });
  expect(rig.machine.at("b").attempt.where).toEqual({ worker: "w1", node: "local", directory: "/plan" });
  rig.machine.at("b").starts().succeeds();
  await rig.clock.settle();
  expect(rig.machine.at("b").attempt).toMatchObject({
    verification: 1,
    where: { worker: "local/verify", node: "local" },
  });
});
