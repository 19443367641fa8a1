import { describe, expect, test } from "vitest";
import { task } from "../../test/rig/builders.ts";
import { Scribe } from "../../test/rig/scribe.ts";
import { workerId } from "../domain/ids.ts";
import type { TaskSpec } from "../domain/spec.ts";
import type { Task } from "../domain/task.ts";
import { seconds } from "../domain/time.ts";
import { Dispatcher } from "./dispatcher.ts";
import { foresee } from "./foresee.ts";

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
