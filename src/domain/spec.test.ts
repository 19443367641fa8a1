import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { task } from "../../test/rig/builders.ts";
import { always } from "../../test/rig/property.ts";
import { taskId } from "./ids.ts";
import { PRIORITIES, packSpec, RETRY_DEFAULT, SPEC_DEFAULTS, type TaskSpec, unpackSpec } from "./spec.ts";
import { millis, seconds } from "./time.ts";

/** As the store does it. */
const kept = (spec: TaskSpec): TaskSpec => unpackSpec(JSON.parse(JSON.stringify(packSpec(spec))));

describe("a spec that is packed", () => {
  test("holds only what the plan said", () => {
    expect(packSpec(task("a"))).toEqual({ id: "a", run: { argv: ["true"] } });
    expect(packSpec(task("a", { needs: ["b"], env: {}, labels: {} }))).toEqual({
      id: "a",
      run: { argv: ["true"] },
      needs: ["b"],
    });
  });

  test("is what it was when it is unpacked, and shares what it left out", () => {
    const spec = kept(task("a"));
    expect(spec).toEqual(task("a"));
    expect(spec.retry).toBe(RETRY_DEFAULT);
    expect(spec.needs).toBe(SPEC_DEFAULTS.needs);
  });

  test("keeps a policy that differs in one thing only", () => {
    expect(kept(task("a", { retry: { on: [75] } })).retry).toEqual({ ...RETRY_DEFAULT, on: [75] });
    expect(kept(task("a", { timeout: { hard: seconds(3_600), soft: seconds(1) } })).timeout).toEqual({
      hard: 3_600_000,
      soft: 1_000,
    });
  });

  test("comes back the same, whatever it is", async () => {
    const word = fc.string({ unit: "binary", maxLength: 8 });
    const words = fc.array(word, { maxLength: 3 });
    const span = fc.nat().map(millis);
    const command = fc.oneof(fc.record({ shell: word }), fc.record({ argv: fc.tuple(word, word) }));
    const specs = fc.record(
      {
        id: word.map(taskId),
        run: command,
        title: word,
        needs: words.map((ids) => ids.map(taskId)),
        after: words.map((ids) => ids.map(taskId)),
        onFailure: fc.constantFrom("skip" as const, "continue" as const),
        priority: fc.constantFrom(...PRIORITIES),
        requires: words,
        resources: fc.dictionary(word, fc.nat()),
        reads: words,
        writes: words,
        env: fc.dictionary(word, fc.oneof(word, fc.record({ from: word }))),
        cwd: word,
        retry: fc.record({
          attempts: fc.nat(),
          backoff: span,
          factor: fc.integer({ min: 1, max: 9 }),
          max: span,
          on: fc.array(fc.nat(255)),
        }),
        timeout: fc.record({ soft: span, hard: span }, { requiredKeys: ["hard"] }),
        progress: span,
        estimate: span,
        gate: word,
        verify: command,
        memoryLimit: fc.nat(),
        labels: fc.dictionary(word, word),
      },
      { requiredKeys: ["id", "run"], noNullPrototype: true },
    );
    await always(
      200,
      fc.property(specs, (some) => {
        const spec = { ...SPEC_DEFAULTS, ...some } as TaskSpec;
        expect(kept(spec)).toEqual(spec);
      }),
    );
  });
});
