import { describe, expect, test } from "vitest";
import { find, openRig, statesOf } from "../../test/rig/rig.ts";
import {
  agentTask,
  BACK,
  BEAT,
  claimed,
  DONE,
  FAILED,
  join,
  proofOf,
  refusal,
  report,
} from "../../test/rig/sessions.ts";
import { runId, taskId } from "../domain/ids.ts";
import { millis, seconds } from "../domain/time.ts";
import { openMemoryStore } from "../store/memory/store.ts";
import { replayAll } from "../store/replay.ts";
import type { Store } from "../store/store.ts";

describe("a report", () => {
  test.each([
    ["complete", DONE, "succeeded"],
    ["fail", FAILED, "failed"],
    ["release", BACK, "ready"],
  ])(
    "of %s ends the lease once: said again it is the same report, anything else comes too late",
    async (_, leaseReport, state) => {
      const rig = await openRig();
      const run = await rig.submit([agentTask("a")]);
      await join(rig, "s1");
      const granted = await claimed(rig, "s1");
      expect(await report(rig, granted, leaseReport)).toMatchObject({ held: undefined, repeated: false });
      expect(statesOf(run)).toEqual({ a: state });
      const before = (await rig.kinds()).length;
      expect(await report(rig, granted, leaseReport)).toMatchObject({ repeated: true });
      expect((await rig.kinds()).length).toBe(before);
      for (const other of [DONE, FAILED, BACK, BEAT].filter(({ kind }) => kind !== leaseReport.kind)) {
        expect(await refusal(report(rig, granted, other))).toBe("LEASE_LOST");
      }
      expect(statesOf(run)).toEqual({ a: state });
      expect((await rig.kinds()).slice(before)).toEqual([
        "late_report_refused",
        "late_report_refused",
        "late_report_refused",
      ]);
    },
  );

  test("said again does not speak for who holds the task now", async () => {
    const rig = await openRig();
    await rig.submit([agentTask("a"), agentTask("b")]);
    await join(rig, "s1");
    await join(rig, "s2", { slots: 2, ttl: seconds(10) });
    const first = await claimed(rig, "s1");
    await claimed(rig, "s2", { run: first.run.manifest.id, task: taskId("b") });
    await rig.clock.advance(11_000);
    await report(rig, first, BACK);
    await claimed(rig, "s2", { run: first.run.manifest.id, task: taskId("a") });
    await report(rig, first, BACK);
    expect(rig.engine.world.sessions.get("s2" as never)?.losses).toBe(1);
  });

  test("with a wrong token changes nothing, and leaves a trace", async () => {
    const rig = await openRig();
    const run = await rig.submit([agentTask("a")]);
    await join(rig, "s1");
    const granted = await claimed(rig, "s1");
    for (const token of ["", "x", `${granted.token}x`, granted.token.toLowerCase()]) {
      const said = rig.engine.api.report({ ...proofOf(granted), token }, DONE);
      expect(await refusal(rig.promised(said))).toBe("TOKEN_WRONG");
    }
    const foreign = rig.engine.api.report({ ...proofOf(granted), fence: 2 }, DONE);
    expect(await refusal(rig.promised(foreign))).toBe("TOKEN_WRONG");
    expect(statesOf(run)).toEqual({ a: "claimed" });
    expect((await rig.eventsOf(run, "a")).slice(2).map(({ kind }) => kind)).toEqual(
      Array(5).fill("late_report_refused"),
    );
    await report(rig, granted, DONE);
  });

  test("a moment after the deadline is refused, before any sweep; at the deadline it counts", async () => {
    for (const [late, answer] of [
      [0, "not refused"],
      [1, "LEASE_LOST"],
    ] as const) {
      const rig = await openRig();
      const run = await rig.submit([agentTask("a")]);
      await join(rig, "s1", { ttl: seconds(10) });
      const granted = await claimed(rig, "s1");
      await rig.clock.advance(9_000);
      const said = refusal(rig.engine.api.report(proofOf(granted), DONE));
      await rig.clock.sleep(millis(1_000 + late));
      expect(await said).toBe(answer);
      const kinds = (await rig.eventsOf(run, "a")).map(({ kind }) => kind);
      const end = late === 0 ? ["succeeded"] : ["late_report_refused", "expired"];
      expect(kinds.slice(0, 2 + end.length)).toEqual(["waiting", "claimed", ...end]);
      expect(rig.engine.world.sessions.get("s1" as never)?.losses).toBe(late);
    }
  });

  test("of an old holder is refused while another has the task, whatever it says", async () => {
    const rig = await openRig();
    const run = await rig.submit([agentTask("a")]);
    await join(rig, "s1", { ttl: seconds(10) });
    await join(rig, "s2");
    const old = await claimed(rig, "s1");
    await rig.clock.advance(10_001);
    const held = await claimed(rig, "s2");
    expect(held.fence).toBe(2);
    for (const leaseReport of [BEAT, DONE, FAILED, BACK])
      expect(await refusal(report(rig, old, leaseReport))).toBe("LEASE_LOST");
    expect(find(run, "a").status).toMatchObject({ state: "claimed", lease: { worker: "s2", fence: 2 } });
    await report(rig, held, DONE);
  });

  test("about a run that is over and forgotten is refused from the record, twice at the same time too", async () => {
    const rig = await openRig({ forgets: true });
    await rig.submit([agentTask("a", { retry: { attempts: 2, backoff: millis(0) } })]);
    await join(rig, "s1");
    const old = await claimed(rig, "s1");
    await report(rig, old, FAILED);
    await report(rig, await claimed(rig, "s1"), DONE);
    expect(rig.engine.world.runs.size).toBe(0);
    const both = [report(rig, old, DONE), report(rig, old, BACK)];
    expect(await Promise.all(both.map(refusal))).toEqual(["LEASE_LOST", "LEASE_LOST"]);
    expect(await refusal(report(rig, old, FAILED))).toBe("LEASE_LOST");
    expect((await rig.kinds()).slice(-3)).toEqual(Array(3).fill("late_report_refused"));
    expect(rig.engine.world.runs.size).toBe(0);
    expect(await replayAll(rig.store)).toEqual([]);
    await rig.submit([agentTask("b")], { id: runId("run-2") });
    expect((await claimed(rig, "s1")).task.spec.id).toBe("b");
  });

  test("about a run that is over is not looked up for who has no token of it", async () => {
    let loads = 0;
    const store = openMemoryStore();
    const counting: Store = { ...store, load: (no) => store.load(no).finally(() => loads++) };
    const rig = await openRig({ forgets: true, store: counting });
    await rig.submit([agentTask("a")]);
    await join(rig, "s1");
    const granted = await claimed(rig, "s1");
    await report(rig, granted, DONE);
    for (const token of ["", "x", `${granted.token}x`]) {
      const said = rig.engine.api.report({ ...proofOf(granted), token }, DONE);
      expect(await refusal(rig.promised(said))).toBe("TOKEN_WRONG");
    }
    const unknown = rig.engine.api.report({ ...proofOf(granted), run: runId("none") }, DONE);
    expect(await refusal(rig.promised(unknown))).toBe("RUN_UNKNOWN");
    expect(loads).toBe(0);
    expect(await refusal(report(rig, granted, BACK))).toBe("LEASE_LOST");
    expect(loads).toBe(1);
  });

  test("is answered again as the same report also from the record", async () => {
    const rig = await openRig({ forgets: true });
    await rig.submit([agentTask("a")]);
    await join(rig, "s1");
    const granted = await claimed(rig, "s1");
    await report(rig, granted, DONE);
    expect(await report(rig, granted, DONE)).toMatchObject({ repeated: true });
  });
});
