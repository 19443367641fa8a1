import { describe, expect, test } from "vitest";
import { openRig, type Rig } from "../../test/rig/rig.ts";
import { agentTask, BEAT, claim, claimed, DONE, join, profile, proofOf, refusal } from "../../test/rig/sessions.ts";
import { millis, minutes, seconds } from "../domain/time.ts";
import type { EngineApi } from "./engine-api.ts";

const as = (rig: Rig, token: string): EngineApi =>
  rig.engine.api.as({ by: token, authority: { isAdmin: false, token } });
const wanted = (key?: string) => ({ session: "s1", wait: seconds(60), ...(key !== undefined && { key }) });

describe("a call that waits, of a session that leaves", () => {
  test.each([undefined, "k"])(
    "is told that nothing comes, and is given nothing of the next session of that id (key: %s)",
    async (key) => {
      const rig = await openRig({});
      const [ada, eve] = [as(rig, "ada"), as(rig, "eve")];
      await rig.promised(ada.join(profile("s1")));
      const waits = ada.claim(wanted(key));
      await rig.clock.settle();
      // All in one turn.
      const left = ada.leave("s1", "enough");
      const joined = eve.join(profile("s1"));
      void rig.submit([agentTask("a")]);
      await rig.promised(Promise.all([left, joined]));
      expect(await rig.promised(waits)).toBeUndefined();
      expect(await rig.promised(eve.claim(wanted(key)))).toMatchObject({ fence: 1 });
    },
  );

  test("hears of no assignment either", async () => {
    const rig = await openRig({ modes: { agents: "push" } });
    const [ada, eve] = [as(rig, "ada"), as(rig, "eve")];
    await rig.promised(ada.join(profile("s1")));
    const waits = ada.assignment({ session: "s1", wait: minutes(1) });
    await rig.clock.settle();
    const left = ada.leave("s1", "enough");
    const joined = eve.join(profile("s1"));
    void rig.submit([agentTask("a")]);
    await rig.promised(Promise.all([left, joined]));
    expect(await rig.promised(waits)).toBeUndefined();
    expect(await rig.promised(eve.assignment({ session: "s1", wait: millis(0) }))).toMatchObject({ fence: 1 });
  });

  test("is found in the pool in which it began to wait", async () => {
    const rig = await openRig({});
    const [ada, eve] = [as(rig, "ada"), as(rig, "eve")];
    await rig.promised(ada.join(profile("s1")));
    const waits = ada.claim(wanted());
    await rig.clock.settle();
    await rig.promised(ada.join(profile("s1", { pool: "others" })));
    await rig.promised(ada.leave("s1", "enough"));
    expect(await rig.promised(waits)).toBeUndefined();
    await rig.promised(eve.join(profile("s1")));
    await rig.submit([agentTask("a")]);
    expect(await rig.promised(eve.claim(wanted()))).toMatchObject({ fence: 1 });
  });
});

test("whose a session is is asked again in the turn: until then another token may have joined under its id", async () => {
  const rig = await openRig({});
  await rig.submit([agentTask("a")]);
  const [ada, eve] = [as(rig, "ada"), as(rig, "eve")];
  await rig.promised(ada.join(profile("s1")));
  const left = ada.leave("s1", "enough");
  const joined = eve.join(profile("s1"));
  const calls = [
    ada.claim(wanted("k")),
    ada.assignment({ session: "s1", wait: millis(0) }),
    ada.beat("s1", "busy"),
    ada.leave("s1", "again"),
    ada.join(profile("s1")),
  ];
  const refusals = Promise.all(calls.map(refusal));
  await rig.promised(Promise.all([left, joined]));
  expect(await rig.promised(refusals)).toEqual(calls.map(() => "FORBIDDEN"));
  expect(rig.engine.world.sessions.get(profile("s1").id)).toMatchObject({ state: "idle", profile: { owner: "eve" } });
});

test("a claim may follow a join that was not answered yet", async () => {
  const rig = await openRig({});
  await rig.submit([agentTask("a")]);
  const ada = as(rig, "ada");
  const joined = ada.join(profile("s1"));
  const granted = ada.claim(wanted("k"));
  await rig.promised(joined);
  expect(await rig.promised(granted)).toMatchObject({ fence: 1 });
  expect(await rig.promised(ada.claim(wanted("k")))).toMatchObject({ fence: 1 });
});

describe("the token of a lease", () => {
  test("is no other caller's proof, also after the end of the lease and of its run", async () => {
    const rig = await openRig({ forgets: true });
    const run = await rig.submit([agentTask("a")]);
    const [ada, eve] = [as(rig, "ada"), as(rig, "eve")];
    await rig.promised(ada.join(profile("s1")));
    const granted = await rig.promised(ada.claim(wanted("k")));
    if (granted === undefined) throw new Error("nothing was given");
    const report = (by: EngineApi) => refusal(rig.promised(by.report(proofOf(granted), DONE)));
    expect(await report(eve)).toBe("TOKEN_WRONG");
    expect(await report(ada)).toBe("not refused");
    await rig.clock.settle();
    expect(rig.engine.world.run(run.no)).toBeUndefined();
    expect([await report(eve), await report(ada), await report(rig.engine.api)]).toEqual([
      "TOKEN_WRONG",
      "not refused",
      "not refused",
    ]);
  });

  test("is given again with its key by another scheduler, and proves as much", async () => {
    const rig = await openRig({});
    const run = await rig.submit([agentTask("a")]);
    await rig.promised(as(rig, "ada").join(profile("s1")));
    const first = await rig.promised(as(rig, "ada").claim(wanted("k")));
    await rig.resume(run.no);
    const again = await rig.promised(as(rig, "ada").claim(wanted("k")));
    expect(again?.token).toBe(first?.token);
    if (again === undefined) throw new Error("nothing was given");
    expect(await refusal(rig.promised(as(rig, "eve").report(proofOf(again), BEAT)))).toBe("TOKEN_WRONG");
    expect(await refusal(rig.promised(as(rig, "ada").report(proofOf(again), BEAT)))).toBe("not refused");
  });

  test("of the owner's session is no token's proof", async () => {
    const rig = await openRig({});
    await rig.submit([agentTask("a")]);
    await join(rig, "s1");
    const granted = await claimed(rig, "s1");
    expect(await refusal(rig.promised(as(rig, "eve").report(proofOf(granted), DONE)))).toBe("TOKEN_WRONG");
    expect(await refusal(rig.promised(as(rig, "eve").beat("s1", "busy")))).toBe("FORBIDDEN");
    expect(await refusal(claim(rig, "s1"))).toBe("SLOTS_TAKEN");
  });
});
