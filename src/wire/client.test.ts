import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { HttpRig, httpRig } from "../../test/rig/http.ts";
import { GRANT, Ledger, scriptedService, USUAL, untilGivenUp } from "../../test/rig/service.ts";
import { UserError } from "../domain/errors.ts";
import { readRequest } from "../http/input.ts";
import { type Client, connect } from "./client.ts";
import type { Route } from "./route.ts";
import { ROUTES, type RouteName } from "./routes.ts";
import type { Service } from "./service.ts";

const lease = { run: "r1", task: "build", fence: 1, token: "t" };
/** One call for each route, and what the service receives. Tokens are not the service's business, and streams have tests of their own. */
const CALLS: Record<
  Exclude<RouteName, NotCalled>,
  readonly [(client: Client) => Promise<unknown>, readonly unknown[]]
> = {
  submit: [
    (client) => client.submit({ text: "tasks: {}", file: "p", directory: "/w" }),
    ["submit", { text: "tasks: {}", file: "p", directory: "/w" }],
  ],
  runs: [(client) => client.runs({ before: "r1" }), ["runs", { limit: 100, before: "r1" }]],
  status: [(client) => client.status(), ["status", "last"]],
  manifest: [(client) => client.manifest("r1"), ["manifest", "r1"]],
  outcome: [(client) => client.await("r1", 5), ["await", "r1", 5]],
  why: [(client) => client.why(undefined, "build [a/b]?"), ["why", "last", "build [a/b]?"]],
  events: [
    (client) => client.events({ run: "r1", after: 3 }),
    ["events", { run: "r1", after: 3, limit: 1_000, follow: false }],
  ],
  join: [
    (client) => client.join({ session: "s1", capabilities: ["rust"] }),
    ["join", { session: "s1", agent: "agent", capabilities: ["rust"], slots: 1 }],
  ],
  sessions: [(client) => client.sessions(), ["sessions"]],
  beat: [(client) => client.beat("s1", { state: "busy" }), ["beat", "s1", { state: "busy" }]],
  leave: [(client) => client.leave("s/1"), ["leave", "s/1"]],
  wake: [(client) => client.wake("s1", 5), ["wake", "s1", 5]],
  assignment: [(client) => client.assignment("s1", 5), ["assignment", "s1", 5]],
  workers: [(client) => client.workers(), ["workers"]],
  claim: [(client) => client.claim({ session: "s1" }), ["claim", { session: "s1", waitMs: 0 }]],
  start: [(client) => client.start(lease), ["start", lease]],
  heartbeat: [(client) => client.heartbeat(lease), ["heartbeat", lease]],
  progress: [(client) => client.progress({ ...lease, note: "half" }), ["progress", { ...lease, note: "half" }]],
  complete: [
    (client) => client.complete({ ...lease, summary: "done – ✓" }),
    ["complete", { ...lease, summary: "done – ✓" }],
  ],
  fail: [(client) => client.fail({ ...lease, code: 3 }), ["fail", { ...lease, kind: "exit", code: 3 }]],
  release: [(client) => client.release(lease), ["release", lease]],
  pause: [(client) => client.pause({ pool: "claude", why: "lunch" }), ["pause", { pool: "claude", why: "lunch" }]],
  resume: [(client) => client.resume({ pool: "claude" }), ["resume", { pool: "claude" }]],
  drain: [(client) => client.drain({}), ["drain", { waitMs: 60_000 }]],
  cancel: [(client) => client.cancel({ run: "r1" }), ["cancel", { run: "r1" }]],
  retry: [(client) => client.retry({ tasks: ["build"] }), ["retry", { tasks: ["build"] }]],
  requeue: [(client) => client.requeue({ task: "build" }), ["requeue", { task: "build" }]],
  approve: [(client) => client.approve({ task: "build" }), ["approve", { task: "build" }]],
  edit: [(client) => client.edit({ task: "build", changes: "{}" }), ["edit", { task: "build", changes: "{}" }]],
  info: [(client) => client.info(), ["info"]],
  cycle: [(client) => client.cycle(), ["cycle"]],
  stats: [(client) => client.stats(), ["stats"]],
};
type NotCalled = "openapi" | "wakes" | "issueToken" | "tokens" | "revokeToken";

const connected = (rig: HttpRig): Client => connect({ state: rig.state }, { by: "Mo Ä.", clock: rig.clock });

test("a client is a service: code that is written for one takes the other", () => {
  const service: Service = connect({ socket: "/none" });
  expect(service).toBeDefined();
});

describe("every call", () => {
  test.each(Object.entries(CALLS))(
    "%s arrives as it was made, and its answer has the shape it should have",
    async (name, [call, [method, ...given]]) => {
      await using rig = await httpRig();
      await using client = connected(rig);
      const answer = await call(client);
      expect(rig.asked).toEqual([{ method, given: expect.anything() }]);
      const asked = rig.asked[0]?.given ?? [];
      expect(asked.slice(0, given.length)).toEqual(given);
      for (const caller of asked.slice(given.length)) expect(caller).toMatchObject({ by: "Mo Ä." });
      expect(answer).toEqual(USUAL[method as keyof Service]);
      const { answer: shape } = ROUTES[name as RouteName] as Route;
      if (shape !== undefined) expect(readRequest(shape, answer)).toEqual(answer);
    },
  );
});

test("tokens are issued, listed and revoked", async () => {
  await using rig = await httpRig();
  await using client = connected(rig);
  const { token, ...issued } = await client.issueToken({ name: "ci", scope: "read" });
  expect(await client.tokens()).toEqual([issued]);
  await using guest = connect({ url: rig.server.url ?? "", token });
  expect(await guest.runs()).toHaveLength(1);
  await client.revokeToken(issued.id);
  await expect(guest.runs()).rejects.toMatchObject({ code: "UNAUTHORIZED", message: "The token is revoked" });
});

describe("a refusal", () => {
  test("comes back as the error it was", async () => {
    const diagnostics = [{ code: "PLAN_CYCLE", message: "a → a" }];
    const error = new UserError("PLAN_INVALID", "p cannot be run\n  ✗ a", { hint: "Mend it.", diagnostics });
    await using rig = await httpRig({ submit: () => Promise.reject(error) });
    await using client = connected(rig);
    const refused = await client.submit({ text: "t", file: "p", directory: "/w" }).catch((each) => each);
    expect(refused).toBeInstanceOf(UserError);
    const { code, message, hint, exitCode } = refused;
    expect({ code, message, hint, exitCode, diagnostics: refused.diagnostics }).toEqual({
      ...{ code: "PLAN_INVALID", message: error.message, hint: "Mend it.", exitCode: 2, diagnostics },
    });
  });

  test("says when there is no daemon", async () => {
    await using client = connect({ state: "/nowhere" });
    await expect(client.info()).rejects.toMatchObject({
      code: "DAEMON_MISSING",
      message: expect.stringContaining("/nowhere"),
    });
    await using other = connect({ url: "http://127.0.0.1:1", token: "t" });
    await expect(other.info()).rejects.toMatchObject({ code: "DAEMON_MISSING" });
  });

  test("says when there is no room for another caller, as something that passes", async () => {
    const rig = new HttpRig();
    await using _ = rig;
    const socket = join(rig.folder, "full.sock");
    const script = `require("net").createServer().listen({ path: ${JSON.stringify(socket)}, backlog: 1 }, () => console.log("there"))`;
    const full = spawn(process.execPath, ["-e", script], { stdio: ["ignore", "pipe", "inherit"] });
    await once(full.stdout, "data");
    // It accepts no connection while it is stopped, so callers stay in the queue until the queue is full too.
    full.kill("SIGSTOP");
    const clients = Array.from({ length: 8 }, () => connect({ socket }));
    const refused = await Promise.race(clients.map((client) => client.info().catch((error: unknown) => error)));
    full.kill("SIGKILL");
    for (const client of clients) client.close();
    expect(refused).toMatchObject({ code: "DAEMON_STOPPING", message: expect.stringContaining("no room") });
  });

  test("says when something else answers in its place", async () => {
    const rig = new HttpRig();
    await using _ = rig;
    const socket = join(rig.folder, "other.sock");
    const other = createServer((request, response) => {
      response.statusCode = request.url === "/v1/runs" ? 502 : 200;
      response.end("<html>");
    });
    await once(other.listen(socket), "listening");
    await using client = connect({ socket });
    await expect(client.info()).rejects.toMatchObject({ code: "DAEMON_FAILED" });
    await expect(client.runs()).rejects.toMatchObject({
      code: "DAEMON_FAILED",
      message: expect.stringContaining("502"),
    });
    other.close();
  });

  test("is said before anything is sent when the address is none", () => {
    expect(() => connect({ url: "https://example.org", token: "t" })).toThrow(
      expect.objectContaining({ code: "USAGE" }),
    );
  });

  test("of a request that is wrong says where", async () => {
    await using rig = await httpRig();
    await using client = connected(rig);
    await expect(client.claim({ session: "" })).rejects.toMatchObject({ code: "REQUEST_INVALID" });
  });
});

test("over TCP the token is shown", async () => {
  await using rig = await httpRig();
  const url = rig.server.url ?? "";
  await using client = connect({ url, token: rig.ownerToken });
  expect(await client.claim({ session: "s1" })).toEqual(GRANT);
  await using stranger = connect({ url, token: "wrong" });
  await expect(stranger.info()).rejects.toMatchObject({ code: "UNAUTHORIZED" });
});

test("a call is given up by its signal, there as here", async () => {
  const { promise: waiting, resolve: begun } = Promise.withResolvers<void>();
  const { promise: over, resolve: ended } = Promise.withResolvers<void>();
  await using rig = await httpRig({
    claim: async (_, caller) => {
      begun();
      await untilGivenUp(caller);
      ended();
    },
  });
  await using client = connected(rig);
  const controller = new AbortController();
  const claim = client.claim({ session: "s1", waitMs: 60_000 }, { signal: controller.signal });
  await waiting;
  controller.abort();
  await expect(claim).rejects.toMatchObject({ name: "AbortError" });
  await over;
  await expect(client.info({ signal: controller.signal })).rejects.toMatchObject({ name: "AbortError" });
});

test("one caller may speak for several", async () => {
  await using rig = await httpRig();
  await using client = connected(rig);
  await client.claim({ session: "s1" }, { by: "agent 7" });
  expect(rig.asked[0]?.given[1]).toMatchObject({ by: "agent 7" });
});

test("calls one after the other share a connection, and find the daemon again when it was restarted", async () => {
  const rig = new HttpRig();
  await using _ = rig;
  await rig.start(scriptedService());
  await using client = connected(rig);
  for (let no = 0; no < 5; no++) await client.claim({ session: "s1" });
  await rig.server.close();
  await expect(client.info()).rejects.toMatchObject({ code: "DAEMON_MISSING" });
  await rig.start(scriptedService());
  expect(await client.claim({ session: "s1" })).toEqual(GRANT);
});

describe("following", () => {
  test("goes on across a restart, without a gap and without telling anything twice", async () => {
    const ledger = new Ledger();
    const rig = new HttpRig();
    await using _ = rig;
    await rig.start(scriptedService(ledger.answers));
    await using client = connected(rig);
    const told: number[] = [];
    let changed = Promise.withResolvers<void>();
    const until = async (length: number) => {
      while (told.length < length) await changed.promise;
    };
    const controller = new AbortController();
    const following = client.follow(
      { after: 2 },
      ({ seq }) => {
        told.push(seq);
        changed.resolve();
        changed = Promise.withResolvers();
      },
      controller.signal,
    );
    ledger.add(5);
    await until(3);
    await rig.server.close();
    ledger.add(3);
    await rig.start(scriptedService(ledger.answers));
    // Time passes until the next attempt is due.
    while (told.length < 6) await rig.clock.advance(100);
    ledger.add(1);
    await until(7);
    expect(told).toEqual([3, 4, 5, 6, 7, 8, 9]);
    controller.abort();
    await following;
  });

  test("fails at once where there is no daemon, or what is asked for is refused", async () => {
    const signal = new AbortController().signal;
    await using absent = connect({ state: "/nowhere" });
    await expect(absent.follow({}, () => undefined, signal)).rejects.toMatchObject({ code: "DAEMON_MISSING" });
    await using rig = await httpRig({ events: () => Promise.reject(new UserError("RUN_UNKNOWN", "No such run")) });
    await using client = connected(rig);
    await expect(client.follow({ run: "x" }, () => undefined, signal)).rejects.toMatchObject({ code: "RUN_UNKNOWN" });
  });

  test("fails when the listener throws", async () => {
    const ledger = new Ledger();
    ledger.add(1);
    await using rig = await httpRig(ledger.answers);
    await using client = connected(rig);
    const tell = () => {
      throw new Error("enough");
    };
    await expect(client.follow({}, tell, new AbortController().signal)).rejects.toThrow("enough");
  });

  test("wakes come one by one", async () => {
    const tasks = ["a", "b"];
    await using rig = await httpRig({
      wake: async (_, waitMs, caller) => {
        const task = waitMs === 0 ? undefined : tasks.shift();
        if (task !== undefined) return { run: "r1", task, until: "", reason: "offered" };
        if (waitMs > 0) await untilGivenUp(caller);
        return undefined;
      },
    });
    await using client = connected(rig);
    const controller = new AbortController();
    const woken: string[] = [];
    await client.wakes(
      "s1",
      ({ task }) => {
        woken.push(task);
        if (task === "b") controller.abort();
      },
      controller.signal,
    );
    expect(woken).toEqual(["a", "b"]);
  });
});
