/** What a plan says about rates, services and shares reaches the scheduler, and what holds a task back is told from outside. */
import { expect, test } from "vitest";
import { jsonLines, lastJson, openPlace, until } from "../rig/rota.ts";

interface LedgerEvent {
  readonly kind: string;
  readonly at: string;
  readonly task?: string;
}
interface Why {
  readonly reason: string | null;
  readonly wait?: Readonly<Record<string, unknown>>;
  readonly gates: readonly { readonly gate: string; readonly open: boolean }[];
}

test("a rate of the plan lets tasks through as it fills up, and not sooner", async () => {
  using place = openPlace();
  const task = { run: ["true"], resources: { calls: 1 } };
  const plan = {
    weight: 3,
    tenant: "acme",
    resources: { calls: "2/s" },
    tasks: { a: task, b: task, c: task, d: task },
  };
  place.file("plan.json", JSON.stringify(plan));
  expect(await place.rota(["run", "plan.json", "--workers", "4"])).toMatchObject({ code: 0 });
  const events = jsonLines<LedgerEvent>(await place.rota(["events", "--json"]));
  const claims = events.filter(({ kind }) => kind === "claimed").map(({ at }) => Date.parse(at));
  expect(claims).toHaveLength(4);
  const [first = 0, , third = 0, fourth = 0] = claims;
  expect(third - first).toBeGreaterThanOrEqual(500);
  expect(fourth - first).toBeGreaterThanOrEqual(1_000);
});

test("a service that keeps failing is left alone, and `why` says so from outside", async () => {
  using place = openPlace();
  const bad = { run: "exit 1", provider: "api", priority: "critical" };
  const tasks = { b1: bad, b2: bad, b3: bad, b4: bad, b5: bad, good: { run: ["true"], provider: "api" } };
  place.file("plan.json", JSON.stringify({ tasks }));
  const run = place.start(["run", "plan.json", "--workers", "1", "--json"], { ROTA_PRIORITIES: "strict" });
  const why = async (): Promise<Why> => lastJson<Why>(await place.rota(["why", "good", "--json"]));
  await until("five have failed", async () => {
    const events = await place.rota(["events", "--json"]);
    return events.code === 0 && jsonLines<LedgerEvent>(events).filter(({ kind }) => kind === "failed").length === 5;
  });
  expect(await why()).toMatchObject({
    reason: "breaker-open",
    wait: { provider: "api", failures: 5, until: expect.stringMatching(/Z$/) },
    gates: expect.arrayContaining([expect.objectContaining({ gate: "service", open: false, state: "open" })]),
  });
  run.child.kill("SIGINT");
  expect((await run.ended).code).toBe(130);
});
