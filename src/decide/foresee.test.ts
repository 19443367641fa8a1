import { describe, expect, test } from "vitest";
import { task } from "../../test/rig/builders.ts";
import { claimed, Scribe } from "../../test/rig/scribe.ts";
import { workerId } from "../domain/ids.ts";
import type { Run } from "../domain/run.ts";
import type { TaskSpec } from "../domain/spec.ts";
import type { Task } from "../domain/task.ts";
import { seconds } from "../domain/time.ts";
import { Dispatcher } from "./dispatcher.ts";
import { foresee, goesAlone } from "./foresee.ts";

/** Who comes after the first of these, when some are out. */
function nextAfter(specs: readonly TaskSpec[], out: readonly string[] = []): string | undefined {
  const run = new Scribe().submit(specs);
  const dispatcher = new Dispatcher({ workers: [workerId("w1")], capacity: {}, capabilities: [] });
  dispatcher.admit(run);
  const next = foresee(dispatcher, run, run.tasks[0] as Task, ({ spec }) => out.includes(spec.id));
  return next?.spec.id;
}

describe("who goes next", () => {
  test("is whoever waits for a worker and comes first by its lane, its rank and the plan", () => {
    expect(nextAfter([task("a"), task("b"), task("c")])).toBe("b");
    expect(nextAfter([task("a"), task("b"), task("c", { priority: "high" })])).toBe("c");
    const short = { estimate: seconds(1) };
    expect(nextAfter([task("a", short), task("b", short), task("c", { estimate: seconds(9) })])).toBe("c");
  });

  test("is not one that is out", () => {
    expect(nextAfter([task("a"), task("b"), task("c")], ["b"])).toBe("c");
    expect(nextAfter([task("a"), task("b")], ["b"])).toBeUndefined();
  });

  test("is one that waits for this alone, where nobody else does: the longest way to go first", () => {
    expect(nextAfter([task("a"), task("b", { needs: ["a"] }), task("c", { needs: ["a", "b"] })])).toBe("b");
    expect(nextAfter([task("a"), task("b", { after: ["a"] })])).toBe("b");
    const [short, long] = [1, 9].map((count) => ({ needs: ["a"], estimate: seconds(count) }));
    const both = [task("a", { estimate: seconds(1) }), task("b", short), task("c", long)];
    expect(nextAfter(both)).toBe("c");
    expect(nextAfter(both, ["c"])).toBe("b");
  });

  test("is not one that waits for more than that, or that sessions claim", () => {
    expect(nextAfter([task("a"), task("b", { needs: ["a"], gate: "sure?" })])).toBeUndefined();
    expect(nextAfter([task("a"), task("b", { needs: ["a"], pool: "agents" })])).toBeUndefined();
  });
});

describe("who can only come next, at the end of what it waits for", () => {
  /** Whether the second of these can, while the first runs. */
  function isAlone(specs: readonly TaskSpec[], change: (run: Run, dispatcher: Dispatcher) => void = () => {}): boolean {
    const scribe = new Scribe();
    const run = scribe.submit(specs);
    scribe.write(run, 0, claimed);
    const dispatcher = new Dispatcher({ workers: [workerId("w1")], capacity: {}, capabilities: [] });
    dispatcher.admit(run);
    change(run, dispatcher);
    const [ended, next] = run.tasks as [Task, Task];
    return goesAlone(dispatcher, run, ended, next);
  }
  const behind = (changes: Partial<TaskSpec> = {}) => [task("a"), task("b", { needs: ["a"], ...changes })];

  test("is one that waits for nothing else", () => {
    expect(isAlone(behind())).toBe(true);
  });

  test.each([
    ["others wait for a worker", [...behind(), task("c")]],
    ["others could go then, too", [...behind(), task("c", { needs: ["a"] })]],
    ["it waits for others too", [task("a"), task("b", { needs: ["a", "c"] }), task("c", { needs: ["a"] })]],
    ["it asks for something", behind({ resources: { memory: 1 } })],
    ["it reads something", behind({ reads: ["src/"] })],
    ["it writes something", behind({ writes: ["dist/"] })],
    ["not every worker can do it", behind({ requires: ["gpu"] })],
    ["it needs a service", behind({ provider: "claude" })],
    ["somebody is to be asked", behind({ gate: "Go?" })],
  ])("nobody is where %s", (_, specs) => {
    expect(isAlone(specs)).toBe(false);
  });

  test.each<[string, (run: Run, dispatcher: Dispatcher) => void]>([
    ["the run is being cancelled", (run) => Object.assign(run, { cancelling: true })],
    ["there is too much to do", (_, each) => Object.assign(each, { pressure: { ...each.pressure, mode: "moderate" } })],
  ])("nor where %s", (_, change) => {
    expect(isAlone(behind(), change)).toBe(false);
  });
});
