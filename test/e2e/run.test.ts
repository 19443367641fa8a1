/** `rota run` as people use it: exit codes, interruptions, two at once, and what is left afterwards. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { type Ended, jsonLines, lastJson, openPlace, type Place, processesWith, until } from "../rig/rota.ts";

interface Summary {
  readonly run: string;
  readonly outcome: string;
  readonly tasks: Record<string, number>;
  readonly attempts: number;
}
interface LedgerEvent {
  readonly kind: string;
  readonly task?: string;
  readonly at: string;
  readonly not_before?: string;
  readonly [key: string]: unknown;
}

const plan = (place: Place, tasks: Record<string, unknown>, rest: object = {}): string =>
  place.file("plan.json", JSON.stringify({ name: "e2e", ...rest, tasks }));
const events = async (place: Place): Promise<readonly LedgerEvent[]> =>
  jsonLines<LedgerEvent>(await place.rota(["events", "--json"]));
const kindsOf = async (place: Place, task: string): Promise<readonly string[]> =>
  (await events(place)).filter((event) => event.task === task).map(({ kind }) => kind);

/** After every test: the ledger, folded again, is what the tables say. */
async function expectSound(place: Place): Promise<void> {
  const doctor = await place.rota(["doctor"]);
  expect(doctor.code, doctor.out + doctor.err).toBe(0);
}

describe("how a run ends", () => {
  test("all succeeded: exit 0, and the last line of --json says so", async () => {
    using place = openPlace();
    plan(place, { a: { run: "echo hello" }, b: { run: ["true"], needs: ["a"] } });
    const ended = await place.rota(["run", "plan.json", "--json"]);
    expect(ended).toMatchObject({ code: 0, err: "" });
    expect(lastJson<Summary>(ended)).toMatchObject({
      outcome: "succeeded",
      tasks: { total: 2, succeeded: 2, failed: 0, skipped: 0, cancelled: 0, parked: 0 },
      attempts: 2,
    });
    expect((await place.rota(["logs", "a"])).out).toBe("hello\n");
    await expectSound(place);
  });

  test("a failing task is tried as often as it may, then fails, and what needs it is skipped: exit 1", async () => {
    using place = openPlace();
    plan(place, {
      bad: { run: "exit 3", retry: { attempts: 3 } },
      next: { run: "true", needs: ["bad"] },
      last: { run: "true", needs: ["next"] },
      other: { run: "true" },
    });
    const ended = await place.rota(["run", "plan.json", "--json"]);
    expect(ended.code).toBe(1);
    expect(lastJson<Summary>(ended)).toMatchObject({
      outcome: "failed",
      tasks: { succeeded: 1, failed: 1, skipped: 2 },
      attempts: 4,
    });
    const delays = (await events(place))
      .filter(({ kind }) => kind === "retried")
      .map(({ at, not_before: until_ }) => Date.parse(until_ as string) - Date.parse(at));
    expect(delays).toHaveLength(2);
    expect(delays[0]).toBeLessThanOrEqual(100);
    expect(delays[1]).toBeLessThanOrEqual(200);
    await expectSound(place);
  });

  test("`retry.on` lists the codes worth another try", async () => {
    using place = openPlace();
    plan(place, {
      worth: { run: "exit 75", retry: { attempts: 2, backoff: "1ms", on: [75] } },
      not: { run: "exit 1", retry: { attempts: 2, backoff: "1ms", on: [75] } },
    });
    expect((await place.rota(["run", "plan.json", "--json"])).code).toBe(1);
    expect((await kindsOf(place, "worth")).filter((kind) => kind === "claimed")).toHaveLength(2);
    expect((await kindsOf(place, "not")).filter((kind) => kind === "claimed")).toHaveLength(1);
    await expectSound(place);
  });

  test("a command that is not there fails at once, by name, whatever its retries", async () => {
    using place = openPlace();
    plan(place, { typo: { run: ["no-such-command-here"], retry: { attempts: 5 } } });
    const ended = await place.rota(["run", "plan.json"]);
    expect(ended.code).toBe(1);
    expect(ended.out).toContain("command not found: no-such-command-here");
    expect((await kindsOf(place, "typo")).filter((kind) => kind === "claimed")).toHaveLength(1);
    await expectSound(place);
  });

  test("a closed gate ends the run with exit 3 and names what blocks each task; approved, it goes on", async () => {
    using place = openPlace();
    plan(place, {
      build: { run: "true" },
      ship: { run: "true", needs: ["build"], gate: "Ship it?" },
      tell: { run: "true", needs: ["ship"] },
    });
    const stalled = await place.rota(["run", "plan.json"]);
    expect(stalled.code).toBe(3);
    expect(stalled.out).toContain("Ship it?");
    expect(stalled.out).toMatch(/tell.*ship/s);
    expect(lastJson<Summary>(await place.rota(["run", "plan.json", "--resume", "--json"]))).toMatchObject({
      outcome: "waiting",
    });
    expect((await place.rota(["approve", "ship", "--why", "green"])).code).toBe(0);
    // No scheduler is there to do it, so it is kept, and a person who looks is told so.
    const asked = [{ kind: "approve", task: "ship", by: expect.any(String), why: "green", at: expect.any(String) }];
    expect(lastJson<object>(await place.rota(["why", "ship", "--json"]))).toMatchObject({ reason: "gate", asked });
    expect(lastJson<object>(await place.rota(["status", "--json"]))).toMatchObject({ asked });
    const status = await place.rota(["status"]);
    expect(status.out).toMatch(/Asked for.*approve ship.*green.*rota run .*--resume/s);
    expect(status.out).not.toContain("rota approve");
    const resumed = await place.rota(["run", "plan.json", "--resume", "--json"]);
    expect(resumed.code).toBe(0);
    expect(lastJson<Summary>(resumed)).toMatchObject({ outcome: "succeeded", attempts: 3 });
    await expectSound(place);
  });

  test("a request that no machine can meet is refused before anything runs", async () => {
    using place = openPlace();
    plan(place, { big: { run: "true", resources: { cpu: 5_000 } } });
    const ended = await place.rota(["run", "plan.json"]);
    expect(ended.code).toBe(2);
    expect(ended.err + ended.out).toContain("PLAN_IMPOSSIBLE");
  });

  test("what a time-out ends is told, and nothing of it is left", async () => {
    using place = openPlace();
    // Long enough for a shell to begin, on any machine: a shell that has not set its trap yet ends at the first signal.
    plan(place, {
      slow: { run: "trap '' TERM; sleep 60 & wait; sleep 60", timeout: { soft: "2s", hard: "3s" } },
    });
    const ended = await place.rota(["run", "plan.json", "--json"]);
    expect(ended.code).toBe(1);
    expect(processesWith(`ROTA_RUN=${lastJson<Summary>(ended).run}`)).toEqual([]);
    expect(await kindsOf(place, "slow")).toEqual(["claimed", "started", "stopping", "stopping", "failed"]);
    await expectSound(place);
  });
});

/** Runs until the test says so, and no longer than a test may take. */
const UNTIL_GO = "for i in $(seq 10000); do [ -e go ] && exit 0; sleep 0.02; done; exit 1";

describe("interruptions", () => {
  const sleepers = {
    a: { run: UNTIL_GO },
    b: { run: "true", needs: ["a"] },
    long: { run: "echo up; sleep 30" },
  };

  const whenUp = async (place: Place, count: number): Promise<void> =>
    until(
      "the tasks are up",
      async () => (await events(place)).filter(({ kind }) => kind === "started").length >= count,
    );

  test("once: nothing new is started and what runs may end; --resume does the rest", async () => {
    using place = openPlace();
    plan(place, { a: sleepers.a, b: sleepers.b });
    const { child, ended, err } = place.start(["run", "plan.json", "--json"]);
    await whenUp(place, 1);
    child.kill("SIGINT");
    await until("it has heard", () => err().includes("Interrupted"));
    place.file("go", "");
    const end = await ended;
    expect(end.code).toBe(130);
    expect(lastJson<Summary>(end)).toMatchObject({ outcome: "cancelled", tasks: { succeeded: 1 } });
    expect(await kindsOf(place, "b")).toEqual([]);
    expect((await place.rota(["run", "plan.json", "--resume"])).code).toBe(0);
    expect((await kindsOf(place, "a")).filter((kind) => kind === "claimed")).toHaveLength(1);
    await expectSound(place);
  });

  test("twice: what runs is stopped, at no cost to it", async () => {
    using place = openPlace();
    plan(place, { long: sleepers.long });
    const { child, ended } = place.start(["run", "plan.json", "--json"]);
    await whenUp(place, 1);
    child.kill("SIGINT");
    child.kill("SIGTERM");
    const end = await ended;
    expect(end.code).toBe(130);
    expect(processesWith(`ROTA_RUN=${lastJson<Summary>(end).run}`)).toEqual([]);
    expect((await events(place)).find(({ kind }) => kind === "retried")).toMatchObject({ task: "long", costs: false });
    await expectSound(place);
  });

  test("a task cancelled from another terminal ends, and what needs it is skipped", async () => {
    using place = openPlace();
    plan(place, { long: sleepers.long, next: { run: "true", needs: ["long"] }, ok: { run: "true" } });
    const { ended } = place.start(["run", "plan.json", "--json"]);
    await whenUp(place, 2);
    expect((await place.rota(["cancel", "long", "--why", "took too long"])).code).toBe(0);
    const end = await ended;
    expect(end.code).toBe(1);
    expect(lastJson<Summary>(end)).toMatchObject({
      outcome: "cancelled",
      tasks: { succeeded: 1, cancelled: 1, skipped: 1 },
    });
    await expectSound(place);
  });
});

describe("one state directory", () => {
  test("a second run is refused while the first lives, and told who it is", async () => {
    using place = openPlace();
    plan(place, { hold: { run: UNTIL_GO } });
    const first = place.start(["run", "plan.json", "--json"]);
    await until("the first is up", async () => (await place.rota(["status", "--json"])).code === 0);
    const second = await place.rota(["run", "plan.json"]);
    expect(second.code).toBe(2);
    expect(second.err).toMatch(new RegExp(`^STATE_BUSY: .*pid ${first.child.pid}`));
    place.file("go", "");
    expect((await first.ended).code).toBe(0);
    await expectSound(place);
  });

  test("a crashed run does not stand in the way", async () => {
    using place = openPlace();
    plan(place, { hold: { run: "sleep 30" } });
    const first = place.start(["run", "plan.json"]);
    await until("it runs", async () => (await kindsOf(place, "hold")).includes("started"));
    const [held] = await events(place);
    first.child.kill("SIGKILL");
    await first.ended;
    place.file("plan.json", JSON.stringify({ name: "other", tasks: { quick: { run: "true" } } }));
    expect((await place.rota(["run", "plan.json", "--json"])).code).toBe(0);
    // No scheduler continues the first run, so what it had running was stopped.
    expect((await events(place)).filter(({ task, kind }) => task === "hold" && kind === "succeeded")).toEqual([]);
    expect(processesWith(`ROTA_RUN=${String(held?.["run"])}`)).toEqual([]);
    await expectSound(place);
  });

  test("--resume refuses a plan that was changed meanwhile", async () => {
    using place = openPlace();
    plan(place, { ask: { run: "true", gate: true } });
    expect((await place.rota(["run", "plan.json"])).code).toBe(3);
    plan(place, { ask: { run: "false", gate: true } });
    const resumed: Ended = await place.rota(["run", "plan.json", "--resume"]);
    expect(resumed).toMatchObject({ code: 2, out: "" });
    expect(resumed.err).toMatch(/^RUN_CHANGED: /);
  });

  test("--resume of a run that has ended tells how it ended, and runs nothing", async () => {
    using place = openPlace();
    plan(place, { once: { run: "echo ran >> trace" } });
    expect((await place.rota(["run", "plan.json", "--resume"])).code).toBe(0);
    expect((await place.rota(["run", "plan.json", "--resume"])).code).toBe(0);
    expect(place.read("trace")).toBe("ran\n");
  });
});

test("retry makes a new run in which what had succeeded counts as done", async () => {
  using place = openPlace();
  plan(place, {
    first: { run: "echo first >> trace" },
    flaky: { run: "test -e mended", needs: ["first"] },
    last: { run: "echo last >> trace", needs: ["flaky"] },
  });
  expect((await place.rota(["run", "plan.json"])).code).toBe(1);
  place.file("mended", "");
  const retried = await place.rota(["retry", "--json"]);
  expect(retried.code).toBe(0);
  expect(lastJson<Summary>(retried)).toMatchObject({
    outcome: "succeeded",
    tasks: { total: 3, succeeded: 3 },
    attempts: 2,
  });
  expect(place.read("trace")).toBe("first\nlast\n");
  expect((await place.rota(["retry"])).err).toMatch(/^NOTHING_TO_RETRY: /);
  await expectSound(place);
});

test("a gigabyte of output leaves the scheduler as small as it was, and is all in the log", async () => {
  using place = openPlace();
  plan(place, { loud: { run: "head -c 1000000000 /dev/zero" } });
  const { child, ended } = place.start(["run", "plan.json", "--json"]);
  let most = 0;
  const look = (): void => {
    try {
      const peak = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))?.[1];
      most = Math.max(most, Number(peak ?? 0) * 1_024);
    } catch {}
  };
  const watch = setInterval(look, 20);
  const end = await ended;
  clearInterval(watch);
  expect(end.code).toBe(0);
  expect(most).toBeGreaterThan(0);
  expect(most).toBeLessThan(200e6);
  const { run } = lastJson<Summary>(end);
  const { statSync } = await import("node:fs");
  expect(statSync(`${place.dir}/.rota/runs/${run}/loud/1/log`).size).toBe(1_000_000_000);
});
