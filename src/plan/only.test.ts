import { expect, test } from "vitest";
import { task } from "../../test/rig/builders.ts";
import { buildGraph } from "../domain/graph.ts";
import { onlyTasks } from "./only.ts";

const TASKS = [
  task("fetch"),
  task("lint"),
  task("build", { needs: ["fetch"] }),
  task("test", { needs: ["build"], after: ["lint", "fetch"] }),
  task("ship", { needs: ["test"] }),
];
const only = (...names: string[]) => onlyTasks({ tasks: TASKS, graph: buildGraph(TASKS) }, names);

test("a part of a plan is what is named with all that it needs, in the order of the plan", () => {
  const found = only("test", "fetch");
  expect(found.ok && found.value.tasks.map(({ id }) => id)).toEqual(["fetch", "build", "test"]);
  expect(found.ok && found.value.graph.size).toBe(3);
});

test("what a task merely comes after is no need, and the order among the tasks that are left stays", () => {
  const found = only("test");
  expect(found.ok && found.value.tasks.at(-1)?.after).toEqual(["fetch"]);
  expect(TASKS[3]?.after).toEqual(["lint", "fetch"]);
});

test("a name that is no task is given back", () => {
  expect(only("lint", "tset")).toEqual({ ok: false, error: "tset" });
});
