import { describe, expect, test } from "vitest";
import { converse, LEASE, texts, working } from "../../test/rig/mcp.ts";
import { fakeDaemon, grant, session, TTL } from "../../test/rig/mcp-daemon.ts";
import { UserError } from "../domain/errors.ts";
import type { DaemonInfo } from "../wire/answers.ts";

describe("claiming", () => {
  test("joins once, by the name of the client, begins the task and tells all about it", async () => {
    const client = converse();
    client.daemon.ready.push(grant(), grant({ task: "test", fence: 4 }));
    await client.open();
    const first = await client.call("claim_next");
    await client.call("claim_next", { run: "last", priority: "high", key: "k" });
    expect(client.daemon.calls.map(({ name, args }) => [name, ...args])).toEqual([
      ["join", { agent: "claude-code", capabilities: [], slots: 1 }],
      ["claim", { session: "s1", waitMs: 30_000 }],
      ["start", LEASE],
      ["claim", { session: "s1", run: "last", priority: "high", key: "k", waitMs: 30_000 }],
      ["start", { ...LEASE, task: "test", fence: 4 }],
      // Of the task that is held already nothing was heard.
      ["heartbeat", LEASE],
    ]);
    const { deadline, ...told } = grant();
    expect(first.structuredContent).toMatchObject({ claimed: true, session: "s1", ...told, lease_until: deadline });
    for (const said of ["build", "r1", "secret-1", "Build it.", "/project", "dist/", "complete"])
      expect(texts(first)).toContain(said);
  });

  test("uses what the server was started with", async () => {
    const profile = { session: "mine", agent: "reviewer", pool: "p", workspace: "/w", capabilities: ["gpu"], slots: 2 };
    const client = converse({ profile });
    await client.open();
    await client.call("claim_next", { waitMs: 0 });
    expect(client.daemon.callsOf("join")).toEqual([{ name: "join", args: [profile], by: "reviewer" }]);
  });

  test("works as another session when one is named, and joins none", async () => {
    const client = converse();
    client.daemon.ready.push(grant());
    await client.open();
    await client.call("claim_next", { session: "theirs" });
    expect(client.daemon.callsOf("join")).toEqual([]);
    expect(client.daemon.callsOf("claim")[0]?.args).toMatchObject([{ session: "theirs" }]);
  });

  test("waits for an assignment where the pool assigns, whether that is known or is found out", async () => {
    const disabled = new UserError("SELF_CLAIM_DISABLED", "This pool assigns.");
    const daemon = fakeDaemon({
      join: async () => session({ mode: "push" }),
      claim: () => Promise.reject(disabled),
    });
    daemon.ready.push(grant(), grant({ task: "test" }));
    const client = converse({ daemon });
    await client.open();
    expect((await client.call("claim_next")).structuredContent).toMatchObject({ task: "build" });
    expect((await client.call("claim_next", { session: "s2" })).structuredContent).toMatchObject({ task: "test" });
    expect(daemon.callsOf("claim").length).toBe(1);
  });

  test("says what to do when there is nothing", async () => {
    const client = converse();
    await client.open();
    const answer = await client.call("claim_next", { waitMs: 0 });
    const next = "Call `claim_next` again to go on waiting.";
    expect(answer.structuredContent).toEqual({ claimed: false, session: "s1", pool: "agent", next });
    expect(texts(answer)).toBe(`Nothing to claim in pool agent. ${next}`);
  });

  test("names its pool and those in which something is ready, when there is nothing", async () => {
    const daemon = fakeDaemon();
    const info = { ...(await daemon.service.info()), pools: [] as DaemonInfo["pools"] };
    const client = converse({ daemon: fakeDaemon({ info: async () => info }) });
    await client.open();
    const found = async (...pools: [string, number][]) => {
      info.pools = pools.map(([pool, ready]) => ({ pool, ready, sessions: 1 }));
      return await client.call("claim_next", { waitMs: 0 });
    };
    const elsewhere = await found(["writers", 3], ["agent", 0], ["\u001b[31mred", 1]);
    expect(texts(elsewhere)).toContain(
      "Tasks are ready in other pools: writers (3), \\x1b[31mred (1). The person who set this up",
    );
    expect(elsewhere.structuredContent).toMatchObject({
      ready: [{ pool: "writers", ready: 3 }, { ready: 1 }],
      next: expect.stringContaining("writers (3)"),
    });
    expect(texts(await found(["agent", 2]))).toContain("What is ready in pool agent is not for this session: `why`");
  });

  test("is not stopped by a daemon that does not say what is ready", async () => {
    const client = converse({ daemon: fakeDaemon({ info: () => Promise.reject(new Error("gone")) }) });
    await client.open();
    expect(await client.call("claim_next", { waitMs: 0 })).toMatchObject({ structuredContent: { claimed: false } });
  });

  test("is told, while the daemon is away, that the lease is kept, when to call again and whom to tell", async () => {
    const away = new UserError("DAEMON_MISSING", "There is no daemon at /s/rota.sock");
    const client = await working({ progress: () => Promise.reject(away), heartbeat: () => Promise.reject(away) });
    const refused = texts(await client.call("progress", { note: "half way" }));
    expect(refused).toBe(
      "DAEMON_MISSING: There is no daemon at /s/rota.sock. (Go on with build: its lease holds until 2026-01-01T00:02:00.000Z at least. " +
        "Call again in 30 seconds; what was answered before is kept. If it stays away, tell the person you work for.)",
    );
  });

  test("joins anew when the daemon does not know the session any more", async () => {
    let known = false;
    const daemon = fakeDaemon({
      claim: async () => {
        if (known) return grant();
        known = true;
        throw new UserError("SESSION_UNKNOWN", "There is no session s1.");
      },
    });
    const client = converse({ daemon });
    await client.open();
    expect((await client.call("claim_next")).structuredContent).toMatchObject({ claimed: true });
    expect(daemon.callsOf("join").length).toBe(2);
  });

  test("tries to join again after a join that failed", async () => {
    let up = false;
    const daemon = fakeDaemon({
      join: async () => {
        if (up) return session();
        throw new UserError("DAEMON_MISSING", "No daemon answers.");
      },
    });
    const client = converse({ daemon });
    await client.open();
    const refused = await client.call("claim_next", { waitMs: 0 });
    expect(refused.isError).toBe(true);
    expect(texts(refused)).toMatch(/^DAEMON_MISSING: No daemon answers\. \(Call again in 30 seconds/);
    up = true;
    expect((await client.call("claim_next", { waitMs: 0 })).isError).toBe(false);
  });

  test("gives back a task that could not be begun", async () => {
    const daemon = fakeDaemon({ start: () => Promise.reject(new UserError("LEASE_LOST", "It is gone.")) });
    daemon.ready.push(grant());
    const client = converse({ daemon });
    await client.open();
    expect((await client.call("claim_next")).isError).toBe(true);
    expect(daemon.callsOf("release")[0]?.args).toMatchObject([LEASE]);
    await client.clock.advance(TTL);
    expect(daemon.callsOf("heartbeat")).toEqual([]);
  });
});
