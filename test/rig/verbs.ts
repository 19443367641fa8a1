/**
 * Every verb of a store and every kind of commit, one after the other, always the same: what the tests of crashes do to a store. The state
 * after each step is known, so a store that was cut off anywhere must be as it was before that step, or after it.
 */
import { hash } from "node:crypto";
import type { SystemNews, TaskNews } from "../../src/domain/event.ts";
import { runId, workerId } from "../../src/domain/ids.ts";
import { type Run, runNo } from "../../src/domain/run.ts";
import type { TaskSpec } from "../../src/domain/spec.ts";
import { instant, later, millis, minutes, seconds } from "../../src/domain/time.ts";
import type { Store } from "../../src/store/store.ts";
import { no, owner, success, task } from "./builders.ts";
import { START } from "./clock.ts";
import { asked, claimed, LedgerFixture, NOW, started } from "./ledger-fixture.ts";

/** What one step does to the store. What it is made from is made whether or not it is done, so that a run can go on in the middle. */
type Verb = (store: Store) => Promise<unknown>;
export interface Step {
  readonly name: string;
  readonly verb: Verb;
}

const session = {
  kind: "session_joined",
  profile: { id: workerId("s1"), agent: "claude", pool: "agents", capabilities: ["gpu"], slots: 2, ttl: minutes(5) },
} as const satisfies SystemNews;
const scope = { of: "task", run: runNo(1), task: no(2) } as const;
const spawn = { kind: "spawn", message: "no such file", durationMs: millis(0) } as const;
/** Large enough to need pages of its own. */
const WIDE = 40;
const wide: readonly TaskSpec[] = Array.from({ length: WIDE }, (_, at) =>
  task(`w${at}`, { title: `wide ${at} `.repeat(60) }),
);
const plan: readonly TaskSpec[] = [
  task("a"),
  task("b", { needs: ["a"] }),
  task("c", { gate: "sure?" }),
  task("d", { retry: { attempts: 3 } }),
  task("e"),
  task("f", { needs: ["e"] }),
  task("g"),
];

/** The steps from the first on. The same list is made anew for every run of them. */
function* steps(): Generator<Step> {
  const fixture = new LedgerFixture();
  let epoch = 0;
  const acquire = (name: string): Step => {
    epoch++;
    return {
      name,
      verb: async (store) => {
        const acquired = await store.acquire(owner(name));
        if (!acquired.ok || acquired.value.epoch !== epoch) throw new Error(`epoch ${epoch} was expected`);
      },
    };
  };
  const commit = (name: string): Step => {
    const batch = fixture.pending.take(epoch);
    return {
      name: `commit ${name}`,
      verb: async (store) => {
        if (!(await store.commit(batch)).ok) throw new Error("the commit was refused");
      },
    };
  };
  const task_ = (run: Run, at: number, ...news: readonly TaskNews[]): void => void fixture.write(run, at, ...news);

  yield { name: "secret", verb: (store) => store.secret("a secret") };
  yield acquire("acquire");
  const run = fixture.submit(plan);
  fixture.pending.remember({ key: "k1", at: START, answer: { run: runNo(1) } });
  yield commit("submit with its answer");
  for (const at of [0, 3, 4, 6]) task_(run, at, claimed);
  yield commit("claims");
  for (const at of [0, 3, 4]) task_(run, at, started);
  yield commit("started");
  task_(run, 0, { kind: "lease_renewed", deadline: later(NOW, minutes(3)) });
  yield commit("renewal");
  task_(run, 0, { kind: "succeeded", outcome: success });
  task_(run, 3, { kind: "retried", outcome: spawn, notBefore: later(NOW, seconds(9)), costs: true });
  task_(run, 4, { kind: "failed", outcome: spawn, reason: "permanent" });
  task_(run, 5, { kind: "skipped", because: no(4) });
  task_(run, 6, { kind: "parked", reason: "attention", message: "look at it" });
  yield commit("ends");
  yield* sessionsAndHolds(fixture, run, commit);
  const cancel = { kind: "cancel", run: runId("run-1"), by: "mo", why: "enough", at: NOW } as const;
  yield { name: "request", verb: (store) => store.request(cancel) };
  yield { name: "request", verb: (store) => store.request({ ...cancel, kind: "requeue" }) };
  fixture.pending.requestDone(1);
  task_(run, 6, { kind: "requeued", asked });
  yield commit("request done");
  for (const at of [1, 2, 3, 6]) task_(run, at, { kind: "cancelled", asked });
  fixture.pending.ofRun(runNo(1), { kind: "run_finished", outcome: "failed" }, NOW);
  fixture.pending.learn(run.manifest.name, [
    { task: "a", logMs: 3.25, errorSquared: 0.5 },
    { task: "d", logMs: 1.125 },
  ]);
  yield commit("end of the run with its lessons");
  yield { name: "forget", verb: (store) => store.forget(instant(START + 1)) };
  yield { name: "release", verb: (store) => store.release({ epoch }) };
  yield acquire("acquire again");
  const second = fixture.submit(wide, { id: runId("run-2"), retryOf: runId("run-1"), carried: [no(0)] }, runNo(2));
  yield commit("submit of many pages");
  for (let at = 1; at < WIDE; at++) task_(second, at, claimed, started);
  yield commit("claims over many pages");
  yield acquire("take over");
  yield* forgetting(fixture, commit);
}

/** Some runs, one of which has ended and is no longer needed: its events are interleaved with those of another. */
function* forgetting(fixture: LedgerFixture, commit: (name: string) => Step): Generator<Step> {
  const { pending } = fixture;
  const old = fixture.submit([task("a")], { id: runId("run-3") }, runNo(3));
  pending.ofSystem({ kind: "paused", scope: { of: "run", run: runNo(3) }, asked }, NOW);
  const newest = fixture.submit([task("a"), task("b")], { id: runId("run-4") }, runNo(4));
  fixture.write(old, 0, claimed).write(newest, 0, claimed).write(old, 0, { kind: "succeeded", outcome: success });
  pending.ofRun(runNo(3), { kind: "run_finished", outcome: "succeeded" }, NOW);
  yield commit("a run that ends among another");
  yield {
    name: PRUNE,
    verb: async (store) => {
      const pruned = await store.prune([1, 2, 3, 4].map(runNo));
      if (!pruned.ok || pruned.value.join() !== "3")
        throw new Error("run 3, and no other, was expected to be forgotten");
    },
  };
  fixture.write(newest, 1, claimed);
  yield commit("after something was forgotten");
}
const PRUNE = "prune";

/** What sessions, people and editors bring. */
function* sessionsAndHolds(fixture: LedgerFixture, run: Run, commit: (name: string) => Step): Generator<Step> {
  const { pending } = fixture;
  pending.ofSystem(session, NOW);
  pending.ofSystem({ ...session, profile: { ...session.profile, id: workerId("s2") } }, NOW);
  yield commit("sessions");
  pending.ofSystem({ kind: "session_changed", session: workerId("s1"), state: "busy", losses: 1 }, NOW);
  pending.ofSystem({ kind: "session_left", session: workerId("s2"), why: "done" }, NOW);
  yield commit("a session changed, one left");
  pending.ofSystem({ kind: "paused", scope, asked }, NOW);
  pending.ofSystem({ kind: "paused", scope: { of: "scheduler" }, asked }, NOW);
  yield commit("pauses");
  pending.ofSystem({ kind: "resumed", scope, asked }, NOW);
  yield commit("resumed");
  fixture.write(run, 1, { kind: "edited", changes: { title: "another", priority: "high" }, asked });
  yield commit("edited");
  pending.remember({ key: "k2", at: NOW, answer: { run: runNo(1), task: no(1), fence: 1 } });
  yield commit("an answer alone");
}

/** Does the steps from `from` on, and says after each that it is done. A step that fails is the last, unless the caller wants to hear of it. */
export async function perform(
  store: Store,
  acknowledge: (done: number, name: string) => void,
  from = 0,
  failed?: (name: string) => void,
  until = STEPS.length,
): Promise<void> {
  let done = 0;
  for (const { name, verb } of steps()) {
    if (++done <= from) continue;
    if (done > until) return;
    try {
      await verb(store);
      acknowledge(done, name);
      store.maintain();
    } catch (error) {
      if (failed === undefined) throw error;
      failed(name);
    }
  }
}

export const STEPS: readonly string[] = Array.from(steps(), ({ name }) => name);
/** So many steps come before anything is forgotten. */
export const BEFORE_PRUNE = STEPS.indexOf(PRUNE);

/** Everything a store says of itself, as one short text: the whole is too long to be shown when it differs. */
export async function portrait(store: Store): Promise<string> {
  const runs = await store.runs();
  const everything = {
    owner: await store.owner(),
    runs: await Promise.all(runs.map(({ no: each }) => store.load(each))),
    events: await store.events({}),
    lastSeq: await store.lastSeq(),
    history: [...(await store.history("plan")).durations],
    error: (await store.history("plan")).error,
    sessions: await store.sessions(),
    pauses: await store.pauses(),
    answers: [await store.recall("k1"), await store.recall("k2")],
    requests: await store.requests(),
    forgotten: await store.forgotten(),
  };
  return hash("sha256", JSON.stringify(everything));
}

/** How a store looks before the first step, and after each. */
export async function portraits(open: () => Store): Promise<readonly string[]> {
  await using store = open();
  const seen = [await portrait(store)];
  let done = 0;
  for (const { verb } of steps()) {
    await verb(store);
    seen[++done] = await portrait(store);
  }
  return seen;
}
