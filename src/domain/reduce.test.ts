import { describe, expect, test } from "vitest";
import { exit, manifest, no, success, task } from "../../test/rig/builders.ts";
import { START } from "../../test/rig/clock.ts";
import { statesOf } from "../../test/rig/rig.ts";
import type { TaskNews } from "./event.ts";
import { workerId } from "./ids.ts";
import { reduce } from "./reduce.ts";
import { type Run, type RunManifest, runNo } from "./run.ts";
import type { TaskSpec } from "./spec.ts";
import type { Task } from "./task.ts";
import { later, millis, seconds } from "./time.ts";
import { type Change, World } from "./world.ts";

const NOW = later(START, seconds(1));
const asked = { by: "mo" };
const claim: TaskNews = {
  kind: "claimed",
  worker: workerId("w1"),
  deadline: later(NOW, seconds(30)),
  evidence: { lane: "normal", rank: 1, waitedMs: millis(0) },
  tokenHash: "h",
};

/** Folds news about tasks in, one event at a time. */
class RunFixture {
  readonly world = new World();
  readonly run: Run;
  readonly changes: Change[] = [];

  constructor(specs: readonly TaskSpec[], rest: Partial<RunManifest> = {}) {
    const event = { kind: "run_submitted", seq: 1, at: NOW, run: runNo(1), manifest: manifest(rest), specs } as const;
    reduce(this.world, event, this.changes);
    this.run = this.world.run(runNo(1)) as Run;
  }

  tell(at: number, ...news: readonly TaskNews[]): this {
    for (const each of news) {
      const { version, attempt } = this.task(at);
      const place = { seq: this.world.seq + 1, at: NOW, run: this.run.no, task: no(at), version: version + 1 };
      this.changes.length = 0;
      reduce(this.world, { ...each, ...place, attempt: attempt + (each.kind === "claimed" ? 1 : 0) }, this.changes);
    }
    return this;
  }

  task(at: number): Task {
    return this.run.tasks[at] as Task;
  }
}

describe("ends", () => {
  const ends: readonly (readonly [string, TaskNews])[] = [
    ["succeeded", { kind: "succeeded", outcome: success }],
    ["failed", { kind: "failed", outcome: exit(1), reason: "permanent" }],
    ["cancelled", { kind: "cancelled", asked }],
  ];
  const others: readonly TaskNews[] = [
    claim,
    { kind: "started" },
    { kind: "succeeded", outcome: success },
    { kind: "failed", outcome: exit(1), reason: "permanent" },
    { kind: "retried", outcome: exit(1), notBefore: NOW, costs: true },
    { kind: "expired", worker: workerId("w1"), notBefore: NOW },
    { kind: "released", why: "restart" },
    { kind: "parked", reason: "attention" },
    { kind: "skipped", because: no(0) },
    { kind: "cancelled", asked },
    { kind: "requeued", asked },
    { kind: "stopping", reason: { kind: "shutdown" } },
    { kind: "lease_renewed", deadline: NOW },
  ];

  test.each(ends)("a task that has %s never becomes anything else", (_, news) => {
    for (const other of others) {
      expect(() => new RunFixture([task("a")]).tell(0, claim, news).tell(0, other), other.kind).toThrow(/a /);
    }
  });

  test.each(ends)("a report that is refused after it %s is only counted", (_, news) => {
    const fixture = new RunFixture([task("a")]).tell(0, claim, news);
    const { status, version } = fixture.task(0);
    fixture.tell(0, { kind: "late_report_refused", fence: 1, reported: "success" });
    expect(fixture.task(0)).toMatchObject({ status, version: version + 1 });
    expect(fixture.changes).toEqual([]);
  });
});

describe("what cannot have happened is refused", () => {
  test.each<[string, readonly TaskNews[]]>([
    ["a claim of what is held", [claim, claim]],
    ["a start of a task that no worker holds", [{ kind: "started" }]],
    ["a success of a task that no worker holds", [{ kind: "succeeded", outcome: success }]],
    ["a renewal of a task that no worker holds", [{ kind: "lease_renewed", deadline: NOW }]],
    ["a stop of a task that no worker holds", [{ kind: "stopping", reason: { kind: "shutdown" } }]],
    ["a requeue of what is not parked", [{ kind: "requeued", asked }]],
  ])("%s", (_, news) => {
    expect(() => new RunFixture([task("a")]).tell(0, ...news)).toThrow();
  });

  test("a claim of what still waits", () => {
    expect(() => new RunFixture([task("a"), task("b", { needs: ["a"] })]).tell(1, claim)).toThrow(
      "b is claimed from blocked",
    );
  });

  test("an event out of order, in the ledger or of its task", () => {
    const { world, run } = new RunFixture([task("a")]);
    const event = { ...claim, at: NOW, run: run.no, task: no(0), attempt: 1 };
    expect(() => reduce(world, { ...event, seq: 3, version: 1 }, [])).toThrow("event 3 follows 1");
    expect(() => reduce(world, { ...event, seq: 2, version: 2 }, [])).toThrow("a: event 2 follows 0");
  });

  test("a claim that is not the next one: a fence only grows by one", () => {
    const { world, run } = new RunFixture([task("a")]);
    const event = { ...claim, at: NOW, run: run.no, task: no(0), seq: 2, version: 1 };
    expect(() => reduce(world, { ...event, attempt: 2 }, [])).toThrow("attempt 2 follows 0");
  });

  test("an event about a run that the World does not have", () => {
    expect(() =>
      reduce(
        new World(),
        { kind: "run_stalled", seq: 1, at: NOW, run: runNo(9), remaining: 1, outcome: "waiting" },
        [],
      ),
    ).toThrow("run 9");
  });
});

describe("counting", () => {
  test("a try that costs is a failure, a try that does not is none", () => {
    const fixture = new RunFixture([task("a")]).tell(0, claim, {
      kind: "retried",
      outcome: exit(1),
      notBefore: NOW,
      costs: true,
    });
    fixture.tell(0, claim, { kind: "retried", outcome: exit(1), notBefore: NOW, costs: false });
    expect(fixture.task(0)).toMatchObject({ attempt: 2, failures: 1 });
  });

  test("leases lost are counted in a row: a try that came to its end begins a new row", () => {
    const lost: TaskNews = { kind: "expired", worker: workerId("w1"), notBefore: NOW };
    const fixture = new RunFixture([task("a")]).tell(0, claim, lost, claim, lost);
    expect(fixture.task(0)).toMatchObject({ expiries: 2, failures: 0, lostBy: "w1" });
    fixture.tell(0, claim, { kind: "released", why: "restart" });
    expect(fixture.task(0).expiries).toBe(2);
    fixture.tell(0, claim, { kind: "retried", outcome: exit(1), notBefore: NOW, costs: true });
    expect(fixture.task(0).expiries).toBe(0);
  });

  test("work put back by a person has a fresh row, a fresh wait clock, and its budget as it was", () => {
    const fixture = new RunFixture([task("a")]).tell(
      0,
      claim,
      { kind: "parked", reason: "poison" },
      { kind: "requeued", asked },
    );
    expect(fixture.task(0)).toMatchObject({
      attempt: 1,
      failures: 0,
      expiries: 0,
      status: { state: "ready", since: NOW, notBefore: NOW },
    });
  });

  test("a renewal moves the deadline and nothing else", () => {
    const fixture = new RunFixture([task("a")]).tell(0, claim);
    const { version } = fixture.task(0);
    const seq = fixture.world.seq;
    const event = {
      kind: "lease_renewed",
      deadline: later(NOW, seconds(60)),
      seq,
      at: NOW,
      run: runNo(1),
      task: no(0),
      version,
      attempt: 1,
    } as const;
    reduce(fixture.world, event, []);
    expect(fixture.task(0)).toMatchObject({
      version,
      status: { state: "claimed", lease: { deadline: later(NOW, seconds(60)), fence: 1 } },
    });
    expect(fixture.world.seq).toBe(seq);
  });
});

describe("waiting", () => {
  test("a task is ready when the last of what it waits for is there", () => {
    const fixture = new RunFixture([task("a"), task("b"), task("c", { needs: ["a"], after: ["b"], gate: "sure?" })]);
    expect(fixture.task(2).unmet).toBe(3);
    fixture.tell(0, claim, { kind: "succeeded", outcome: success });
    fixture.tell(2, { kind: "approved", asked });
    expect(statesOf(fixture.run)).toMatchObject({ c: "blocked" });
    fixture.tell(1, claim, { kind: "failed", outcome: exit(1), reason: "abandoned" });
    expect(fixture.changes.map(({ task: each, to }) => [each.spec.id, to.state])).toEqual([
      ["b", "failed"],
      ["c", "ready"],
    ]);
  });

  test("a need that was not met keeps it blocked, unless it goes on regardless", () => {
    const fixture = new RunFixture([
      task("a"),
      task("b", { needs: ["a"] }),
      task("c", { needs: ["a"], onFailure: "continue" }),
    ]);
    fixture.tell(0, claim, { kind: "failed", outcome: exit(1), reason: "abandoned" });
    expect(statesOf(fixture.run)).toEqual({ a: "failed", b: "blocked", c: "ready" });
  });

  test("an approval counts once, and only where there is a gate", () => {
    const fixture = new RunFixture([task("a", { gate: "sure?" }), task("b")]);
    fixture.tell(0, { kind: "approved", asked }, { kind: "approved", asked }).tell(1, { kind: "approved", asked });
    expect(fixture.run.tasks.map(({ unmet }) => unmet)).toEqual([0, 0]);
  });

  test("what an earlier run has done is done from the beginning", () => {
    const { run, changes } = new RunFixture([task("a"), task("b", { needs: ["a"] }), task("c", { needs: ["b"] })], {
      carried: [no(0), no(1)],
    });
    expect(statesOf(run)).toEqual({ a: "succeeded", b: "succeeded", c: "ready" });
    expect(changes.at(-1)?.to).toEqual({ state: "ready", since: START, notBefore: START });
  });

  test("a stop that is under way is not forgotten when the attempt starts after all", () => {
    const reason = { kind: "cancelled", asked } as const;
    const fixture = new RunFixture([task("a")]).tell(0, claim, { kind: "stopping", reason }, { kind: "started" });
    expect(fixture.task(0).status).toMatchObject({ state: "running", stopping: reason });
  });
});
