import { describe, expect, test } from "vitest";
import { converse, LEASE, texts, working } from "../../test/rig/mcp.ts";
import { fakeDaemon, grant, leaseReply, TTL } from "../../test/rig/mcp-daemon.ts";
import { UserError } from "../domain/errors.ts";
import type { LeaseReply } from "../wire/answers.ts";

describe("a call that waits", () => {
  test("says so every ten seconds to a client that asked for it, and no longer once it is answered", async () => {
    const client = converse();
    await client.open();
    const id = await client.begin("claim_next", { waitMs: 60_000 }, { progressToken: "p" });
    await client.clock.advance(25_000);
    const told = () =>
      client.heard.filter(({ method }) => method === "notifications/progress").map(({ params }) => params);
    expect(told()).toEqual([
      { progressToken: "p", progress: 10_000, total: 60_000, message: "Nothing to claim yet." },
      { progressToken: "p", progress: 20_000, total: 60_000, message: "Nothing to claim yet." },
    ]);
    client.daemon.waiting[0]?.give(grant());
    await client.clock.advance(60_000);
    expect(told().length).toBe(2);
    expect(client.answerTo(id)).toMatchObject({ result: { structuredContent: { claimed: true } } });
  });

  test("tells nothing to a client that did not ask", async () => {
    const client = converse();
    await client.open();
    await client.begin("claim_next");
    await client.clock.advance(25_000);
    expect(client.heard.length).toBe(1);
  });

  test("ends when it is cancelled, and is never answered", async () => {
    const client = converse();
    await client.open();
    const id = await client.begin("claim_next", {}, { progressToken: 1 });
    await client.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id } });
    await client.clock.advance(60_000);
    expect(client.daemon.waiting[0]?.signal?.aborted).toBe(true);
    expect(client.heard.length).toBe(1);
    expect(await client.ask("ping")).toMatchObject({ result: {} });
  });

  test("hands back what came after it was cancelled, since no session knows of it", async () => {
    let give: (task: ReturnType<typeof grant>) => void = () => undefined;
    const daemon = fakeDaemon({ claim: () => new Promise((resolve) => (give = resolve)) });
    const client = converse({ daemon });
    await client.open();
    const id = await client.begin("claim_next");
    await client.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id } });
    give(grant());
    await client.clock.advance(TTL);
    expect(daemon.callsOf("release")[0]?.args).toMatchObject([LEASE]);
    expect(daemon.callsOf("heartbeat")).toEqual([]);
    expect(client.answerTo(id)).toBeUndefined();
  });

  test("does not keep others from being answered", async () => {
    const client = converse();
    await client.open();
    await client.begin("claim_next");
    expect((await client.call("status")).isError).toBe(false);
  });
});

describe("reports", () => {
  test("need to name nothing while one task is held", async () => {
    const client = await working();
    await client.call("progress", { note: "half way" });
    await client.call("heartbeat");
    const done = await client.call("complete", { summary: "built" });
    expect(client.daemon.callsOf("progress")[0]?.args).toEqual([{ ...LEASE, note: "half way" }]);
    expect(client.daemon.callsOf("heartbeat")[0]?.args).toEqual([LEASE]);
    expect(client.daemon.callsOf("complete")).toEqual([
      { name: "complete", args: [{ ...LEASE, summary: "built" }], by: "claude-code" },
    ]);
    const next = "Get the next task with `claim_next`.";
    const settled = { run: "r1", task: "build", fence: 1, state: "succeeded", repeated: false, next };
    expect(done.structuredContent).toEqual(settled);
  });

  test("name the task when several are held", async () => {
    const daemon = fakeDaemon();
    daemon.ready.push(grant(), grant({ task: "test", fence: 2, token: "secret-2" }));
    const client = converse({ daemon });
    await client.open();
    await client.call("claim_next");
    await client.call("claim_next");
    expect(texts(await client.call("fail"))).toMatch(
      /^USAGE: Several tasks are held here: build \(run r1\), test \(run r1\)\./,
    );
    await client.call("fail", { task: "test", kind: "refused", message: "no" });
    await client.call("release", { why: "tired" });
    expect(daemon.callsOf("fail")[0]?.args).toEqual([
      { run: "r1", task: "test", fence: 2, token: "secret-2", kind: "refused", code: 1, message: "no" },
    ]);
    expect(daemon.callsOf("release")[0]?.args).toEqual([{ ...LEASE, why: "tired" }]);
  });

  test("may carry fence and token themselves, as after a reconnect", async () => {
    const client = converse();
    await client.open();
    await client.call("heartbeat", LEASE);
    expect(texts(await client.call("status"))).toContain("You hold build (run r1)");
    await client.call("complete");
    expect(client.daemon.callsOf("complete")[0]?.args).toEqual([LEASE]);
  });

  test("can be sent again after they did not get through", async () => {
    let tries = 0;
    const client = await working({
      complete: async ({ run, task, fence }) => {
        if (++tries === 1) throw new Error("socket hang up");
        return { run, task, fence, state: "succeeded", repeated: false };
      },
    });
    const lost = await client.call("complete");
    expect(lost.isError).toBe(true);
    expect(texts(lost)).toMatch(/^FAULT: socket hang up/);
    expect((await client.call("complete")).isError).toBe(false);
  });

  test("of a lease that was lost are refused with the daemon's own words, and it is held no longer", async () => {
    const client = await working({
      complete: () => Promise.reject(new UserError("LEASE_LOST", "It was given to w2.")),
    });
    expect(texts(await client.call("complete"))).toBe(
      "LEASE_LOST: It was given to w2. (Stop working on it: another worker may have it by now. Nothing was changed.)",
    );
    await client.clock.advance(TTL);
    expect(client.daemon.callsOf("heartbeat")).toEqual([]);
  });

  test("without a task are a sign of life of the session", async () => {
    const client = converse();
    await client.open();
    await client.call("heartbeat", { state: "prompting" });
    expect(client.daemon.callsOf("beat")[0]?.args).toEqual(["s1", { state: "prompting" }]);
    expect(client.daemon.callsOf("heartbeat")).toEqual([]);
  });
});

describe("while a task is held", () => {
  test("its lease is renewed, however long the agent thinks, and not after it has ended", async () => {
    const client = await working();
    await client.clock.advance(TTL * 10);
    expect(client.daemon.callsOf("heartbeat").length).toBe(30);
    expect(client.daemon.callsOf("heartbeat")[0]?.args).toEqual([LEASE]);
    await client.call("complete");
    await client.clock.advance(TTL * 10);
    expect(client.daemon.callsOf("heartbeat").length).toBe(30);
    expect(client.clock.waiting).toEqual([]);
  });

  test("a renewal that does not get through is tried again soon", async () => {
    let down = true;
    const client = await working({
      heartbeat: async (lease) => {
        if (down) throw new UserError("DAEMON_MISSING", "No daemon answers.");
        return leaseReply(lease);
      },
    });
    await client.clock.advance(TTL / 3);
    await client.clock.advance(TTL / 12);
    expect(client.daemon.callsOf("heartbeat").length).toBe(2);
    down = false;
    await client.clock.advance(TTL / 12);
    await client.clock.advance(TTL / 3 - 1);
    expect(client.daemon.callsOf("heartbeat").length).toBe(3);
    expect(texts(await client.call("status"))).toContain("You hold build");
  });

  test("the agent hears at every call that it should stop, and the lease is left to run out", async () => {
    const client = await working({
      heartbeat: async (lease) => leaseReply(lease, { stop: { kind: "cancelled", why: "wrong branch" } }),
    });
    await client.clock.advance(TTL * 3);
    expect(client.daemon.callsOf("heartbeat").length).toBe(1);
    const notice =
      'Stop working on build (run r1): cancelled, "wrong branch". Wind down, then report with `fail` before 2026-01-01T00:02:00.000Z.';
    for (let time = 0; time < 2; time++) {
      const answer = await client.call("why", { task: "ship" });
      expect(answer.content[0]?.text).toBe(notice);
      expect(answer.structuredContent).toMatchObject({ notices: [notice], task: "ship" });
    }
    expect((await client.call("complete", { fence: 9 })).content[0]?.text).toBe(notice);
    await client.call("release");
    expect((await client.call("status")).content.length).toBe(1);
  });

  test("a call of any tool says at once what has become of the task", async () => {
    let reply: () => Promise<LeaseReply> = async () => leaseReply(LEASE);
    const client = await working({ heartbeat: () => reply() });
    expect((await client.call("status")).content.length).toBe(1);
    reply = async () => leaseReply(LEASE, { stop: { kind: "cancelled" } });
    expect((await client.call("status")).content[0]?.text).toMatch(/^Stop working on build \(run r1\): cancelled\./);
    expect((await client.call("why", { task: 7 })).content[0]?.text).toMatch(/^Stop working on build/);
    reply = () => Promise.reject(new UserError("LEASE_LOST", "It ran out."));
    expect((await client.call("events")).content[0]?.text).toMatch(/^The lease on build .* is over: LEASE_LOST/);
    expect(client.daemon.callsOf("heartbeat").length).toBe(4);
  });

  test("a call that reports on the task asks nothing more about it", async () => {
    const client = await working();
    await client.call("progress", { note: "half way" });
    await client.call("heartbeat");
    expect(client.daemon.callsOf("heartbeat").length).toBe(1);
  });

  test("the agent hears until when it may go on after its time is up, and keeps the lease until then", async () => {
    const by = "2026-01-01T00:30:00.000Z";
    const client = await working({
      heartbeat: async (lease) => leaseReply(lease, { stop: { kind: "timeout", by } }),
    });
    expect((await client.call("status")).content[0]?.text).toBe(
      `Stop working on build (run r1): its time is up. Report with \`complete\` or \`fail\` before ${by}: then it is ended.`,
    );
    expect(texts(await client.call("heartbeat"))).toContain(`before ${by}`);
    const before = client.daemon.callsOf("heartbeat").length;
    await client.clock.advance(TTL);
    expect(client.daemon.callsOf("heartbeat").length).toBe(before + 3);
  });

  test("the agent hears once that the lease is gone", async () => {
    const client = await working({ heartbeat: () => Promise.reject(new UserError("LEASE_LOST", "It ran out.")) });
    await client.clock.advance(TTL);
    expect(client.daemon.callsOf("heartbeat").length).toBe(1);
    expect((await client.call("status")).content[0]?.text).toMatch(
      /^The lease on build \(run r1, fence 1\) is over: LEASE_LOST/,
    );
    expect((await client.call("status")).content.length).toBe(1);
  });

  test("an agent whose launcher has gone is vouched for as long as it calls, and for five minutes more", async () => {
    const daemon = fakeDaemon();
    daemon.ready.push(grant());
    let isOrphan = false;
    const client = converse({ daemon, isOrphan: () => isOrphan });
    await client.open();
    await client.call("claim_next");
    await client.clock.advance(10 * 60_000);
    expect(daemon.callsOf("heartbeat").length).toBe(30);
    isOrphan = true;
    await client.call("progress", { note: "still here" });
    const before = daemon.callsOf("heartbeat").length;
    await client.clock.advance(4 * 60_000);
    const [four, all] = [daemon.callsOf("heartbeat").length, before + 15];
    expect(four).toBeGreaterThan(before + 10);
    await client.clock.advance(60 * 60_000);
    expect(daemon.callsOf("heartbeat").length).toBeLessThanOrEqual(all);
    await client.call("progress", { note: "back" });
    await client.clock.advance(60_000);
    expect(daemon.callsOf("heartbeat").length).toBeGreaterThan(all);
  });

  test("an agent that is not heard of for an hour is no longer vouched for, until it is", async () => {
    const client = await working();
    await client.clock.advance(59 * 60_000);
    const before = client.daemon.callsOf("heartbeat").length;
    await client.clock.advance(10 * 60_000);
    expect(client.daemon.callsOf("heartbeat").length).toBeLessThanOrEqual(before + 3);
    const resting = client.daemon.callsOf("heartbeat").length;
    await client.call("status");
    await client.clock.advance(0);
    expect(client.daemon.callsOf("heartbeat").length).toBe(resting + 1);
  });
});

describe("when the client goes", () => {
  test("nothing is renewed and nothing is released: the lease runs out", async () => {
    const client = await working();
    await client.hangUp();
    await client.clock.advance(TTL * 3);
    expect(client.daemon.calls.map(({ name }) => name)).toEqual(["join", "claim", "start"]);
    expect(client.clock.waiting).toEqual([]);
  });

  test("a session that holds nothing takes leave", async () => {
    const client = converse();
    await client.open();
    await client.call("claim_next", { waitMs: 0 });
    await client.hangUp();
    expect(client.daemon.callsOf("leave")).toEqual([{ name: "leave", args: ["s1"], by: "claude-code" }]);
  });

  test("a call that waits ends, and what it is given is handed back", async () => {
    let give: (task: ReturnType<typeof grant>) => void = () => undefined;
    const daemon = fakeDaemon({ claim: () => new Promise((resolve) => (give = resolve)) });
    const client = converse({ daemon });
    await client.open();
    await client.begin("claim_next");
    const gone = client.hangUp();
    await client.clock.advance(2_000);
    give(grant());
    await gone;
    expect(daemon.callsOf("release")[0]?.args).toMatchObject([LEASE]);
  });
});
