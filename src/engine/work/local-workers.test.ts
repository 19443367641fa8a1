/** An act belongs to the attempt that it was decided for, whatever has happened to the task meanwhile. */
import { expect, test } from "vitest";
import { success, task } from "../../../test/rig/builders.ts";
import { claimed, LedgerFixture, NOW } from "../../../test/rig/ledger-fixture.ts";
import { Machine } from "../../../test/rig/machine.ts";
import type { Run } from "../../domain/run.ts";
import type { Task } from "../../domain/task.ts";
import { millis, seconds } from "../../domain/time.ts";
import type { Input } from "../turn/turn.ts";
import { attemptOf } from "./attempt.ts";
import { Leases } from "./leases.ts";
import { LocalWorkers } from "./local-workers.ts";
import { Signs } from "./signs.ts";

/** A claimed task, and the workers that are to do it. */
function given() {
  const fixture = new LedgerFixture();
  const run: Run = fixture.submit([task("a")]);
  fixture.write(run, 0, claimed);
  const machine = new Machine();
  const signs = new Signs(() => millis(0));
  const inputs: Input[] = [];
  const verifier = () => ({ adopted() {}, ended() {} });
  const leases = new Leases({ world: fixture.world, signs, watch() {}, ttl: seconds(30), verify() {} });
  const workers = new LocalWorkers({
    executor: machine.executor(),
    now: () => NOW,
    attemptOf: (of, each) => attemptOf(of, each, { node: () => "local", log: "/log" }),
    leases,
    signs,
    take: (input) => void inputs.push(input),
    verifier,
  });
  return { run, only: run.tasks[0] as Task, machine, workers };
}

test("a stop that was decided for an earlier attempt does not reach the attempt that runs now", () => {
  const { run, only, machine, workers } = given();
  workers.enter(run, only).start();
  workers.stop(only, only.attempt - 1, { kind: "shutdown" }, seconds(1));
  expect(machine.processes[0]?.stops).toEqual([]);
  workers.stop(only, only.attempt, { kind: "shutdown" }, seconds(1));
  expect(machine.processes[0]?.stops).toHaveLength(1);
});

test("an attempt that has ended before its claim was durable is not begun", () => {
  const { run, only, machine, workers } = given();
  const live = workers.enter(run, only);
  live.end(success);
  live.start();
  expect(machine.processes).toEqual([]);
});
