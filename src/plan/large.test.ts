import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { parsePlan } from "./plan.ts";

const TIMEOUT = 60_000;

const chainAsJson = (size: number): Uint8Array => {
  const tasks = Array.from(
    { length: size },
    (_, no) => `"t${no}":{"run":"true","needs":[${no === 0 ? "" : `"t${no - 1}"`}]}`,
  );
  return new TextEncoder().encode(`{"name":"chain","tasks":{${tasks.join(",")}}}`);
};
const chainAsYaml = (size: number): Uint8Array => {
  const tasks = Array.from(
    { length: size },
    (_, no) => `  t${no}:\n    run: "true"\n    needs: [${no === 0 ? "" : `t${no - 1}`}]\n`,
  );
  return new TextEncoder().encode(`name: chain\ntasks:\n${tasks.join("")}`);
};
/** By the processor time of this thread: on a busy machine other programs have the processor in between, even for seconds. */
const timed = async <T>(work: () => T | Promise<T>): Promise<{ readonly ms: number; readonly result: T }> => {
  const start = process.threadCpuUsage();
  const result = await work();
  const { user, system } = process.threadCpuUsage(start);
  return { ms: (user + system) / 1_000, result };
};

describe("a large plan", () => {
  test.each([
    ["JSON", "plan.json", chainAsJson],
    ["YAML", "plan.yaml", chainAsYaml],
  ])(
    "that is a chain of a hundred thousand tasks in %s is read",
    async (_, file, chain) => {
      const result = await parsePlan(chain(100_000), file);
      expect(result.ok && result.value.plan.graph.edges).toBe(99_999);
    },
    TIMEOUT,
  );

  test(
    "in which one task waits for a hundred thousand is read",
    async () => {
      const tasks = Array.from({ length: 100_000 }, (_, no) => `{"id":"t${no}","run":"true"}`);
      const needs = tasks.map((_, no) => `"t${no}"`);
      const text = `{"tasks":[${tasks.join(",")},{"id":"end","run":"true","needs":[${needs.join(",")}]}]}`;
      const result = await parsePlan(new TextEncoder().encode(text), "plan.json");
      expect(result.ok && result.value.plan.graph.edges).toBe(100_000);
    },
    TIMEOUT,
  );

  test.each([
    ["JSON", "plan.json", chainAsJson],
    ["YAML", "plan.yaml", chainAsYaml],
  ])(
    "that is a circle of a hundred thousand tasks in %s is refused in less than two seconds",
    async (_, file, chain) => {
      const closed = new TextDecoder()
        .decode(chain(100_000))
        .replace(/needs(":?|:) ?\[\]/, (found) =>
          found.startsWith('needs"') ? 'needs":["t99999"]' : "needs: [t99999]",
        );
      const { ms, result } = await timed(() => parsePlan(new TextEncoder().encode(closed), file));
      expect(result.ok ? [] : result.error.map(({ code }) => code)).toEqual(["PLAN_CYCLE"]);
      expect(ms).toBeLessThan(2_000);
    },
    TIMEOUT,
  );

  test(
    "takes no more than ten times as long as its JSON alone",
    async () => {
      const bytes = chainAsJson(200_000);
      const text = new TextDecoder().decode(bytes);
      await parsePlan(bytes, "plan.json");
      const bare = await timed(() => JSON.parse(text) as unknown);
      const whole = await timed(() => parsePlan(bytes, "plan.json"));
      expect(whole.ms / bare.ms).toBeLessThan(10);
    },
    TIMEOUT,
  );

  test(
    "with a mistake in each task is refused as soon as one with a few",
    async () => {
      const tasks = Array.from(
        { length: 100_000 },
        (_, no) => `  t${no}: { rnu: x, needs: [nope${no}], priority: hgih }\n`,
      );
      const result = await parsePlan(new TextEncoder().encode(`tasks:\n${tasks.join("")}`), "plan.yaml");
      expect(result.ok ? [] : result.error.map(({ code }) => code).slice(-1)).toEqual(["PLAN_MORE"]);
    },
    TIMEOUT,
  );
});

describe("a small plan that would grow large", () => {
  test.each(["alias-bomb.yaml", "merge-bomb.yaml"])("such as %s is refused in no time", async (name) => {
    const bytes = readFileSync(resolve(import.meta.dirname, "../../test/corpus/plans/bad", name));
    await parsePlan(bytes, name);
    const { ms, result } = await timed(() => parsePlan(bytes, name));
    expect(result).toMatchObject({ ok: false, error: [{ code: "PLAN_ALIASES" }] });
    // A tenth of a second, with room for a slow machine.
    expect(ms).toBeLessThan(500);
  });
});
