import { describe, expect, test } from "vitest";
import { run as runOf, task } from "../../../test/rig/builders.ts";
import type { Run } from "../../domain/run.ts";
import type { Task } from "../../domain/task.ts";
import { Locks } from "./locks.ts";

type Touches = { readonly reads?: readonly string[]; readonly writes?: readonly string[] };

/** A run of the two tasks, the first of which holds its files. */
function held(
  first: Touches,
  second: Touches,
): { readonly locks: Locks; readonly run: Run; readonly tasks: readonly [Task, Task] } {
  const run = runOf([task("holder", first), task("waiter", second)]);
  const tasks = run.tasks as unknown as readonly [Task, Task];
  const locks = new Locks();
  locks.hold(run, tasks[0]);
  return { locks, run, tasks };
}

describe("two tasks are never out at the same time", () => {
  test.each([
    ["write-write", { writes: ["src/"] }, { writes: ["src/a.ts"] }],
    ["read-write", { writes: ["src/a.ts"] }, { reads: ["src"] }],
    ["write-read", { reads: ["src/**/*.ts"] }, { writes: ["src/deep/a.ts"] }],
  ] as const)("when they would meet in a %s", (kind, first, second) => {
    const { locks, run, tasks } = held(first, second);
    expect(locks.conflict(run, tasks[1])).toMatchObject({ kind, holder: tasks[0] });
  });

  test("and the path that stands in the way is named", () => {
    const { locks, run, tasks } = held({ writes: ["src/"] }, { writes: ["doc", "src/a.ts"] });
    expect(locks.conflict(run, tasks[1])?.path).toBe("/plan/src/a.ts");
  });
});

describe("two tasks may be out at the same time", () => {
  test.each([
    ["when both only read", { reads: ["src/"] }, { reads: ["src/"] }],
    ["when they touch different files", { writes: ["src/a"] }, { writes: ["src/ab"] }],
    ["when one touches no files", { writes: ["src/"] }, {}],
  ])("%s", (_, first, second) => {
    const { locks, run, tasks } = held(first, second);
    expect(locks.conflict(run, tasks[1])).toBeUndefined();
  });

  test("as soon as the first has let go, and letting go twice is harmless", () => {
    const { locks, run, tasks } = held({ writes: ["a"] }, { writes: ["a"] });
    locks.release(tasks[0]);
    locks.release(tasks[0]);
    expect(locks.conflict(run, tasks[1])).toBeUndefined();
  });

  test("when their plans live in different directories, but not when these are one inside the other", () => {
    const { locks } = held({ writes: ["src"] }, {});
    const elsewhere = runOf([task("b", { writes: ["src"] })], { directory: "/other" }, 2);
    const above = runOf([task("b", { writes: ["plan/src/x"] })], { directory: "/" }, 3);
    expect(locks.conflict(elsewhere, elsewhere.tasks[0] as Task)).toBeUndefined();
    expect(locks.conflict(above, above.tasks[0] as Task)).toMatchObject({ kind: "write-write" });
  });
});
