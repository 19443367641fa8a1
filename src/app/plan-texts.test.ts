import { expect, test } from "vitest";
import { PlanTexts } from "./plan-texts.ts";

const textOf = (name: string): string => JSON.stringify({ name, tasks: { a: { run: "true" } } });

test("a plan that is submitted again as it was is not read again", async () => {
  const texts = new PlanTexts();
  const first = await texts.read(textOf("one"), "plan.json");
  expect(await texts.read(textOf("one"), "other.json")).toBe(first);
  const other = await texts.read(textOf("two"), "plan.json");
  expect(other.plan.name).toBe("two");
  expect(other.digest).not.toBe(first.digest);
});

test("only the latest are kept, and none that is long", async () => {
  const texts = new PlanTexts();
  const first = await texts.read(textOf("one"), "plan.json");
  for (let no = 0; no < 16; no++) await texts.read(textOf(`other-${no}`), "plan.json");
  const again = await texts.read(textOf("one"), "plan.json");
  expect(again).not.toBe(first);
  expect(again).toMatchObject({ digest: first.digest, plan: { name: "one" } });
  const long = `${textOf("long")}${" ".repeat(20_000)}`;
  expect(await texts.read(long, "plan.json")).not.toBe(await texts.read(long, "plan.json"));
});

test("what is wrong with a plan is said each time", async () => {
  const texts = new PlanTexts();
  for (const name of ["one.json", "two.json"])
    await expect(texts.read(`{"name":"x","tasks":{"a":{"run":"true","needs":["b"]}}}`, name)).rejects.toMatchObject({
      code: "PLAN_INVALID",
      message: expect.stringContaining(name),
    });
});
