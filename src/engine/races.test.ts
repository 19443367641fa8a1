import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { always } from "../../test/rig/property.ts";
import { find, openRig, type Rig } from "../../test/rig/rig.ts";
import {
  agentTask,
  BACK,
  claim,
  claimed,
  DONE,
  FAILED,
  join,
  profile,
  proofOf,
  refusal,
} from "../../test/rig/sessions.ts";
import { gatedStore } from "../../test/rig/stores.ts";
import { PRIORITIES } from "../domain/spec.ts";
import { millis, seconds } from "../domain/time.ts";
import { openMemoryStore } from "../store/memory/store.ts";
import { replayAll } from "../store/replay.ts";
import { openSqliteStore } from "../store/sqlite/store.ts";
import type { LeaseReport } from "./sessions/session-reports.ts";

/** Claims and completes until nothing comes any more; some sessions ask at once, others wait. */
async function works(rig: Rig, session: string, at: number, done: string[]): Promise<void> {
  const { api } = rig.engine;
  for (let turn = at; ; turn++) {
    const granted = await api.claim({ session, wait: turn % 2 === 0 ? millis(0) : seconds(1) });
    if (granted === undefined && turn % 2 === 1) return;
    if (granted === undefined) continue;
    done.push(granted.task.spec.id);
    if (turn % 5 === 0) await api.report(proofOf(granted), { kind: "heartbeat" });
    await api.report(proofOf(granted), DONE);
  }
}

describe.each([
  ["memory", openMemoryStore],
  ["sqlite", () => openSqliteStore(":memory:")],
])("many sessions that race for many tasks (%s)", (_, open) => {
  test("do each of them exactly once", async () => {
    await using store = open();
    const rig = await openRig({ store });
    const ids = Array.from({ length: 300 }, (__, at) => `t${at}`);
    const run = await rig.submit(ids.map((id, at) => agentTask(id, { priority: PRIORITIES[at % 4] as "high" })));
    const names = Array.from({ length: 64 }, (__, at) => `s${at}`);
    for (const name of names) await join(rig, name);
    const done: string[] = [];
    const all = Promise.all(names.map((name, at) => works(rig, name, at, done)));
    for (let over = false; !over; await rig.clock.advance(1_000)) {
      void all.then(() => {
        over = true;
      });
      await rig.clock.settle();
    }
    expect([...done].sort()).toEqual([...ids].sort());
    expect(run.status).toMatchObject({ state: "finished", outcome: "succeeded" });
    const claims = (await store.events({})).filter(({ kind }) => kind === "claimed");
    expect(claims.length).toBe(ids.length);
    expect(await replayAll(store)).toEqual([]);
  });
});

test("of all that could end a lease at the same moment one does, whatever comes first", async () => {
  const words = fc.shuffledSubarray<LeaseReport>([DONE, FAILED, BACK, DONE, FAILED], { minLength: 1 });
  await always(
    200,
    fc.asyncProperty(words, fc.boolean(), fc.boolean(), async (said, isLate, isCancelled) => {
      const rig = await openRig();
      const run = await rig.submit([agentTask("a", { retry: { attempts: 2 } })]);
      await join(rig, "s1", { ttl: seconds(10) });
      const granted = await claimed(rig, "s1");
      if (isCancelled) await rig.ask({ kind: "cancel", run: run.manifest.id });
      await rig.clock.advance(9_000);
      const answers = said.map((leaseReport) => refusal(rig.engine.api.report(proofOf(granted), leaseReport)));
      await rig.clock.sleep(millis(isLate ? 1_001 : 1_000));
      await Promise.all(answers);
      const kinds = (await rig.eventsOf(run, "a")).map(({ kind }) => kind);
      const ends = kinds.filter((kind) =>
        ["succeeded", "failed", "retried", "released", "expired", "cancelled"].includes(kind),
      );
      expect(ends).toEqual([
        isCancelled ? "cancelled" : isLate ? "expired" : AFTER[said[0]?.kind as keyof typeof AFTER],
      ]);
      // The same report again is one report; any other was refused and recorded.
      const others = said.filter(({ kind }) => isLate || kind !== said[0]?.kind).length;
      expect(kinds.filter((kind) => kind === "late_report_refused").length).toBe(others);
    }),
  );
});
const AFTER = { complete: "succeeded", fail: "retried", release: "released" } as const;

test("whichever commit a scheduler dies in, the same key gives one grant in the end, and it counts", async () => {
  for (const how of ["lost", "written"] as const) {
    for (let at = 1; at <= 6; at++) {
      const store = gatedStore(openMemoryStore());
      const rig = await openRig({ store });
      store.crashAt(at, how);
      const key = { key: "k" };
      const life = async (): Promise<void> => {
        const [known] = await store.runs();
        const run =
          known === undefined ? await rig.submit([agentTask("a"), agentTask("b")]) : await rig.resume(known.no);
        await join(rig, "s1");
        const granted = await claimed(rig, "s1", key);
        // The task may have been done under the scheduler before.
        const beat = await refusal(rig.promised(rig.engine.api.report(proofOf(granted), { kind: "heartbeat" })));
        if (beat !== "LEASE_LOST") expect(beat).toBe("not refused");
        await rig.promised(rig.engine.api.report(proofOf(granted), DONE));
        expect(find(run, granted.task.spec.id).status.state).toBe("succeeded");
      };
      await life().catch(async () => {
        rig.crash();
        if ((await store.runs()).length === 0) await rig.boot();
        await life();
      });
      const claims = (await store.events({})).filter((event) => event.kind === "claimed" && event.key === "k");
      expect([how, at, claims.length]).toEqual([how, at, 1]);
      expect(await replayAll(store)).toEqual([]);
    }
  }
});

describe("the work for one claim", () => {
  /** How often the check whether a session may take a task ran, for one claim among so many. */
  async function asked(sessions: number, tasks: number): Promise<{ claim: number; serve: number }> {
    let count = 0;
    const counting = (own: readonly string[]): readonly string[] =>
      new Proxy(own, {
        get: (target, name) => {
          if (name === "includes") count++;
          return Reflect.get(target, name) as unknown;
        },
      });
    const rig = await openRig();
    const specs = Array.from({ length: tasks }, (_, at) =>
      agentTask(`t${at}`, { requires: ["gpu"], priority: PRIORITIES[at % 4] as "high" }),
    );
    await rig.submit(specs);
    await rig.promised(
      Promise.all(
        Array.from({ length: sessions }, (_, at) =>
          rig.engine.api.join(profile(`s${at}`, { capabilities: counting(["rust"]) })),
        ),
      ),
    );
    for (let at = 0; at < sessions; at++) void rig.engine.api.claim({ session: `s${at}`, wait: seconds(3_600) });
    await join(rig, "able", { capabilities: counting(["gpu"]), slots: 2 });
    // No session could do it before: that this has changed is found out once.
    expect(await claim(rig, "able")).toBeDefined();
    count = 0;
    expect(await claim(rig, "able")).toBeDefined();
    const forClaim = count;
    count = 0;
    await rig.promised(rig.engine.api.beat("able", undefined));
    return { claim: forClaim, serve: count };
  }

  test("is the same whether ten sessions wait and a hundred tasks, or a thousand and ten thousand", async () => {
    const few = await asked(10, 100);
    const many = await asked(1_000, 10_000);
    expect(many).toEqual(few);
    expect(many.claim).toBeLessThan(20);
  }, 60_000);
});
