/** Each law of a history, broken once: the checker must say so. */
import { describe, expect, test } from "vitest";
import { task } from "../../../test/rig/builders.ts";
import { RunFixture, type SpecSketch } from "../../../test/rig/run-fixture.ts";
import type { Event } from "../../domain/event.ts";
import { runId, taskId, workerId } from "../../domain/ids.ts";
import { type Outcome, takenFrom } from "../../domain/outcome.ts";
import type { RunManifest } from "../../domain/run.ts";
import { type Instant, millis, seconds } from "../../domain/time.ts";
import { openMemoryStore } from "../../store/memory/store.ts";
import { HistoryChecker, type HistoryFacts } from "./checker.ts";
import { brokenLaws } from "./offline.ts";

/** What the checker says about the run after its events were changed. */
function broken(
  fixture: RunFixture,
  change: (events: Event[]) => Event[] = (events) => events,
  facts: Partial<HistoryFacts> = {},
) {
  const { manifest, tasks } = fixture.run;
  const specs = tasks.map(({ spec }) => spec);
  const checker = new HistoryChecker({ planOf: () => ({ manifest, specs }), ...facts });
  for (const event of change([...fixture.events])) checker.add(event);
  return checker.broken;
}

const plan = (tasks: Record<string, SpecSketch>, manifest: Partial<RunManifest> = {}) =>
  new RunFixture(tasks, manifest);
/** Repeats the last event of this kind, where its numbers fit. */
const again = (kind: Event["kind"]) => (events: Event[]) => {
  const last = events.at(-1) as Event;
  const found = events.findLast((event) => event.kind === kind) as Event & { version: number };
  const version = Math.max(...events.filter((event) => "version" in event).map((event) => event.version));
  return [...events, { ...found, seq: last.seq + 1, version: version + 1 } as Event];
};

describe("a history in which nothing is wrong", () => {
  test("breaks no law", () => {
    const fixture = plan({ a: {}, b: { needs: ["a"], retry: { ...task("x").retry, attempts: 2 } } });
    fixture.start("a").pass(1).succeed("a").start("b").pass(1).retry("b", 5).pass(5).start("b").succeed("b");
    expect(broken(fixture.ofRun({ kind: "run_finished", outcome: "succeeded" }))).toEqual([]);
  });
});

describe("a checker notices", () => {
  test("that an event is missing", () => {
    const fixture = plan({ a: {} }).start("a").succeed("a");
    const laws = broken(fixture, (events) => events.filter(({ kind }) => kind !== "started"));
    expect(laws[0]).toContain("follows 2");
    expect(laws[1]).toContain("version 3 follows 1");
  });

  test("that a fence is used twice", () => {
    const fixture = plan({ a: {} }).start("a");
    const laws = broken(fixture, again("claimed"));
    expect(laws).toEqual(expect.arrayContaining([expect.stringContaining("claim 1 follows claim 1")]));
    expect(laws).toEqual(expect.arrayContaining([expect.stringContaining("local/1 has it already")]));
  });

  test("that a task ends a second time", () => {
    const fixture = plan({ a: {} }).start("a").succeed("a");
    expect(broken(fixture, again("succeeded"))[0]).toContain("it had succeeded");
  });

  test("that a report is taken under an old claim", () => {
    const fixture = plan({ a: {} }).start("a").retry("a", 0).start("a").succeed("a");
    const old = (events: Event[]) =>
      events.map((event) => (event.kind === "succeeded" ? { ...event, attempt: 1 } : event));
    expect(broken(fixture, old)).toEqual(
      expect.arrayContaining([expect.stringContaining("claim 1 is not the current one")]),
    );
  });

  test("that a task goes before what it needs", () => {
    const fixture = plan({ a: {}, b: { needs: ["a"] } })
      .start("a")
      .succeed("a")
      .start("b");
    const early = (events: Event[]) => renumbered(events.filter((event) => !("task" in event && event.task === 0)));
    expect(broken(fixture, early)[0]).toContain("it needs a, which is waiting");
  });

  test("that more is given out than there is", () => {
    const fixture = plan({ a: { resources: { gpu: 1 } }, b: { resources: { gpu: 1 } } });
    fixture.start("a", "local/1").start("b", "local/2");
    expect(broken(fixture, undefined, { capacity: { gpu: 1 } })[0]).toContain("2 of 1 gpu of this machine");
    expect(broken(fixture, undefined, { capacity: { gpu: 2 } })).toEqual([]);
  });

  test("that a plan's own capacity and rate are exceeded", () => {
    const rates = { tokens: { amount: 5, per: seconds(10) } };
    const fixture = plan(
      { a: { resources: { claude: 1, tokens: 5 } }, b: { resources: { claude: 1, tokens: 5 } } },
      { resources: { claude: 1 }, rates },
    );
    fixture.start("a", "local/1").start("b", "local/2");
    expect(broken(fixture)[0]).toContain("2 of 1 claude of run 1");
    expect(broken(fixture)[1]).toContain("faster than 5 in 10000 ms");
  });

  test("that two tasks touch the same files at once", () => {
    const fixture = plan({ a: { writes: ["src/"] }, b: { reads: ["src/x"] } })
      .start("a", "local/1")
      .start("b", "local/2");
    expect(broken(fixture)[0]).toContain("touch the same files");
  });

  test("that a worker has two tasks", () => {
    expect(broken(plan({ a: {}, b: {} }).start("a").start("b"))[0]).toContain("local/1 has another task");
  });

  test("that back-off is not kept, and tries not counted", () => {
    const fixture = plan({ a: {} }).start("a");
    fixture.retry("a", 5).start("a");
    expect(broken(fixture)[0]).toContain("goes over its 1 tries");
    expect(broken(fixture)[1]).toContain("it backs off for another 5000 ms");
    const early = plan({ a: { retry: { ...task("x").retry, attempts: 3 } } })
      .start("a")
      .fail("a");
    expect(broken(early)[0]).toContain("given up after 1 of 3 tries");
  });

  test("that a task backs off for longer than it may, unless the session that was timed out may still be at work", () => {
    const retry = { ...task("x").retry, attempts: 3, max: seconds(2) };
    const retried = (pool: string, notBefore: number, outcome: Outcome): RunFixture => {
      const fixture = plan({ a: { retry, ...(pool !== "local" && { pool }) } }).start(
        "a",
        pool === "local" ? "local/1" : "s1",
      );
      return fixture.of("a", {
        kind: "retried",
        outcome,
        notBefore: (fixture.now + notBefore) as Instant,
        costs: true,
      });
    };
    const law = expect.stringContaining("it backs off for longer than it may");
    const late = { kind: "timeout", limit: "hard", durationMs: millis(5) } as const;
    const facts = { seesRenewals: true };
    expect(broken(retried("local", 2_001, late), undefined, facts)).toContainEqual(law);
    expect(
      broken(retried("agents", 2_001, { kind: "exit", code: 1, durationMs: millis(5) }), undefined, facts),
    ).toContainEqual(law);
    expect(broken(retried("agents", 20_000, late), undefined, facts)).not.toContainEqual(law);
    expect(broken(retried("agents", 40_000, late), undefined, facts)).toContainEqual(law);
  });

  test("that what is cancelled, parked or on hold is given out", () => {
    const asked = { by: "mo" };
    const cancelled = plan({ a: {} })
      .start("a")
      .of("a", { kind: "stopping", reason: { kind: "cancelled", asked } });
    cancelled.of("a", { kind: "released", why: "x" });
    expect(broken(cancelled)[0]).toContain("asked to be cancelled, and is released");
    const closed = plan({ a: { gate: "sure?" } })
      .of("a", { kind: "approved", asked })
      .claim("a");
    const shut = (events: Event[]) => renumbered(events.filter(({ kind }) => kind !== "approved"));
    expect(broken(closed, shut)[0]).toContain("its gate is closed");
  });

  test("that a run waits for a person although none can move it, or is stuck although one can", () => {
    const stalled = (gate: object, outcome: "waiting" | "deadlock") =>
      broken(plan({ a: gate }).ofRun({ kind: "run_stalled", remaining: 1, outcome }));
    expect(stalled({ gate: "sure?" }, "waiting")).toEqual([]);
    expect(stalled({}, "deadlock")).toEqual([]);
    expect(stalled({}, "waiting")[0]).toContain("its outcome cannot be waiting");
    expect(stalled({ gate: "sure?" }, "deadlock")[0]).toContain("its outcome cannot be deadlock");
  });

  test("that a task is kept for one and given to another", () => {
    const fixture = plan({ a: {} });
    fixture.of("a", { kind: "offered", session: workerId("s1"), until: (fixture.now + 1_000) as typeof fixture.now });
    expect(broken(fixture.claim("a", "local/1"))[0]).toContain("it is kept for s1, and goes to local/1");
  });

  test("that a task is said to wait which does not", () => {
    const wait = { reason: "capacity", workers: 1, idle: 0 } as const;
    const running = plan({ a: {} }).start("a").of("a", { kind: "waiting", wait });
    expect(broken(running)[0]).toContain("it is said to wait for capacity while it is running");
    const early = plan({ a: { retry: { ...task("x").retry, attempts: 3 } } }).start("a");
    early.retry("a", 5).of("a", { kind: "waiting", wait });
    expect(broken(early)[0]).toContain("it is said to wait for capacity while it is backing off");
  });

  test("that a run ends before its tasks have", () => {
    const fixture = plan({ a: {} }).ofRun({ kind: "run_finished", outcome: "succeeded" });
    expect(broken(fixture)[0]).toContain("1 tasks have not ended");
  });

  test("that a key is done twice, or at all where its result is taken", () => {
    const keyed = { a: { idempotencyKey: "k" }, b: { idempotencyKey: "k" } };
    const twice = plan(keyed).start("a").succeed("a").start("b").succeed("b");
    expect(broken(twice)).toEqual([
      expect.stringContaining("its key is done: release-7f3a2c/a has succeeded"),
      expect.stringContaining("release-7f3a2c/a has succeeded with the same key"),
    ]);
    expect(broken(plan(keyed).start("a", "local/1").start("b", "local/2"))[0]).toContain("at work with the same key");
    const outcome = takenFrom({ run: runId("release-7f3a2c"), task: taskId("a") });
    const taken = { kind: "succeeded", outcome } as const;
    expect(broken(plan(keyed).start("a").succeed("a").of("b", taken))).toEqual([]);
    expect(broken(plan(keyed).of("b", taken))[0]).toContain("it takes the result of a, which has not done it");
  });

  test("that a lease is renewed or used after it ran out, where renewals are known", () => {
    const fixture = plan({ a: { pool: "agents" } });
    fixture.claim("a", "s1").pass(31).succeed("a");
    const laws = broken(fixture, undefined, { seesRenewals: true });
    expect(laws).toEqual(
      expect.arrayContaining([expect.stringContaining("it succeeded 1000 ms after the lease had run out")]),
    );
    expect(laws).toEqual(expect.arrayContaining([expect.stringContaining("s1 is no session")]));
  });
});

test("a store in which nothing was kept breaks no law", async () => {
  expect(await brokenLaws(openMemoryStore())).toEqual([]);
});

/** The events renumbered as if nothing had been left out. */
function renumbered(events: readonly Event[]): Event[] {
  const versions = new Map<number, number>();
  return events.map((event, at) => {
    if (!("task" in event)) return { ...event, seq: at + 1 };
    const version = (versions.get(event.task) ?? 0) + 1;
    versions.set(event.task, version);
    return { ...event, seq: at + 1, version };
  });
}
