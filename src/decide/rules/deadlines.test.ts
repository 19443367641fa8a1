import { expect, test } from "vitest";
import { run as runOf, task } from "../../../test/rig/builders.ts";
import { START } from "../../../test/rig/clock.ts";
import { workerId } from "../../domain/ids.ts";
import { runNo } from "../../domain/run.ts";
import type { Status, Task } from "../../domain/task.ts";
import { instant } from "../../domain/time.ts";
import { BLOCKED } from "../../domain/world.ts";
import { Deadlines } from "./deadlines.ts";

const claimed: Status = {
  state: "claimed",
  since: START,
  lease: { worker: workerId("w"), fence: 1, deadline: START, tokenHash: "h" },
};

/** The kind of the event does not matter here, only the state after it. */
const submitted = { kind: "run_reopened", seq: 1, at: instant(0), run: runNo(1), epoch: 1 } as const;

/** Tasks whose moment is what `moments` says. */
function watching(moments: Record<string, number | undefined>) {
  const run = runOf(Object.keys(moments).map((id) => task(id)));
  const deadlines = new Deadlines((_, { spec }) => moments[spec.id] as never);
  const become = (each: Task, to: Status): void => {
    const from = each.status;
    each.status = to;
    deadlines.observe({ run, task: each, from, to, cause: submitted });
  };
  for (const each of run.tasks) become(each, claimed);
  const due = (now: number, look: (each: Task) => void = () => {}): string[] => {
    const seen: string[] = [];
    deadlines.due(instant(now), (_, each) => {
      seen.push(each.spec.id);
      look(each);
    });
    return seen;
  };
  return { run, deadlines, become, due, moments };
}

test("those whose time has come are looked at in order, the others are not", () => {
  const { due, moments } = watching({ a: 30, b: 10, c: 20 });
  expect(due(9)).toEqual([]);
  expect(due(20, ({ spec }) => (moments[spec.id] = 99))).toEqual(["b", "c"]);
});

test("the next moment is that of the first", () => {
  const { deadlines, due, moments } = watching({ a: 30, b: 10 });
  expect(deadlines.next()).toBe(10);
  due(10, () => (moments.b = 50));
  expect(deadlines.next()).toBe(30);
});

test("a task that no worker holds any more is forgotten", () => {
  const { run, deadlines, become, due } = watching({ a: 10 });
  become(run.tasks[0] as Task, BLOCKED);
  expect(deadlines.next()).toBeUndefined();
  expect(due(99)).toEqual([]);
});

test("a moment that has moved counts once it is looked at again", () => {
  const { run, deadlines, due, moments } = watching({ a: 10, b: 20 });
  moments.a = 40;
  deadlines.watch(run, run.tasks[0] as Task);
  expect(deadlines.next()).toBe(20);
  expect(due(20, () => (moments.b = 60))).toEqual(["b"]);
});

test("a task that needs no watching is not watched, until it does", () => {
  const { run, deadlines, moments } = watching({ a: undefined });
  expect(deadlines.next()).toBeUndefined();
  moments.a = 5;
  deadlines.watch(run, run.tasks[0] as Task);
  expect(deadlines.next()).toBe(5);
});

test("what is decided while looking counts: a task that was let go is not watched again", () => {
  const { deadlines, become, due } = watching({ a: 10 });
  expect(due(10, (each) => become(each, BLOCKED))).toEqual(["a"]);
  expect(deadlines.next()).toBeUndefined();
});
