import { describe, expect, test } from "vitest";
import { parsePlan } from "../plan.ts";

/** Everything that is said of the plan, as `line:column CODE`. */
async function said(text: string, file = "plan.yaml"): Promise<readonly string[]> {
  const parsed = await parsePlan(new TextEncoder().encode(text), file);
  if (parsed.ok) throw new Error("nothing is wrong with it");
  return parsed.error.map(({ line, column, code }) => `${line}:${column} ${code}`);
}

describe("a key that is written again hides nothing", () => {
  test("of a task in YAML", async () => {
    const first = "  a: { run: x, needs: [absent], timeot: 3 }";
    expect(await said(`tasks:\n${first}\n  b: { run: x }\n  a: { run: x, nedds: [b] }\n`)).toEqual([
      "2:24 PLAN_NEED_UNKNOWN",
      "2:33 PLAN_KEY_UNKNOWN",
      "4:3 PLAN_DUPLICATE",
      "4:16 PLAN_KEY_UNKNOWN",
    ]);
  });

  test("of a task in JSON", async () => {
    const text = '{"tasks": {\n"a": {"run": "x", "timeot": 3},\n"a": {"run": "x"}}}';
    expect(await said(text, "plan.json")).toEqual(["2:19 PLAN_KEY_UNKNOWN", "3:1 PLAN_DUPLICATE"]);
  });

  test("of a key that is written three times, in whatever quotes", async () => {
    const text = "tasks:\n  a: { run: x, one: 1 }\n  'a': { run: x, two: 2 }\n  \"a\": { run: x, three: 3 }\n";
    expect(await said(text)).toEqual([
      "2:16 PLAN_KEY_UNKNOWN",
      "3:3 PLAN_DUPLICATE",
      "3:18 PLAN_KEY_UNKNOWN",
      "4:3 PLAN_DUPLICATE",
      "4:18 PLAN_KEY_UNKNOWN",
    ]);
  });

  test("of a field, and what is about the other name is not said", async () => {
    const text = "tasks:\n  a:\n    run: x\n    timeout: soon\n    timeout: 5s\n";
    expect(await said(text)).toEqual(["4:14 PLAN_VALUE", "5:5 PLAN_DUPLICATE"]);
    expect(await said("tasks:\n  a: { run: x }\n  a: { run: x }\n")).toEqual(["3:3 PLAN_DUPLICATE"]);
  });

  test("of circles, neither, and what is said of the last one stands in the last one", async () => {
    const [first, second] = ["  a: { run: x, needs: [b] }", "  a: { run: x, needs: [absent] }"];
    expect(await said(`tasks:\n${first}\n  b: { run: x, needs: [a] }\n${second}\n`)).toEqual([
      "2:24 PLAN_CYCLE",
      "4:3 PLAN_DUPLICATE",
      "4:24 PLAN_NEED_UNKNOWN",
    ]);
  });

  test("and nothing that the last one has from elsewhere is said to stand in an earlier one", async () => {
    const head = "resources: { claude: 2 }\ndefaults: { resources: { claude: 5 } }";
    const tasks = "  a: { run: x, resources: { claude: 1 } }\n  a: { run: x }";
    expect(await said(`${head}\ntasks:\n${tasks}\n`)).toEqual(["5:3 PLAN_DUPLICATE", "5:3 PLAN_IMPOSSIBLE"]);
  });

  test("of any number of them, in a time that can be waited for", async () => {
    const tasks = Array.from({ length: 2_000 }, () => "  a: { run: x, timeot: 3 }\n").join("");
    expect((await said(`tasks:\n${tasks}`)).length).toBeGreaterThan(10);
  });
});
