/** A task with an idempotency key, as a person meets it who runs the same plan again. */
import { expect, test } from "vitest";
import { openPlace } from "../rig/rota.ts";

const PLAN = `
tasks:
  charge: { run: echo charged >> charges, idempotencyKey: order-42 }
  invoice: { run: echo invoice, needs: [charge] }
`;

test("it is done by the first run, and every later one says whose result it took", async () => {
  using place = openPlace();
  place.file("plan.yaml", PLAN);
  const first = await place.rota(["run", "plan.yaml", "--json"]);
  const { run } = JSON.parse(first.out.trim().split("\n").at(-1) ?? "") as { run: string };
  const second = await place.rota(["run", "plan.yaml", "--json"]);
  expect(second.code).toBe(0);
  expect(JSON.parse(second.out.trim().split("\n").at(-1) ?? "")).toMatchObject({
    tasks: { succeeded: 2 },
    attempts: 1,
  });
  expect(place.read("charges")).toBe("charged\n");
  const why = await place.rota(["why", "charge", "--json"]);
  expect(JSON.parse(why.out)).toMatchObject({ attempt: 0, outcome: { taken_from: { run, task: "charge" } } });
  expect((await place.rota(["why", "charge"])).out).toContain(`took the result of charge of run ${run}`);
  expect((await place.rota(["status"])).out).toContain(`the result of charge of run ${run}`);
  expect((await place.rota(["timeline"])).out).toContain("1 attempt of 2 tasks");
  expect((await place.rota(["doctor"])).code).toBe(0);
});
