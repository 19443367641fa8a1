/** A client that calls more than once does so over a line connection; that changes how long a call takes, and nothing else. */
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type HttpRig, httpRig } from "../../test/rig/http.ts";
import { GRANT, untilGivenUp } from "../../test/rig/service.ts";
import { openTap, type Tap } from "../../test/rig/tap.ts";
import { type Client, connect } from "./client.ts";
import { LINE_MAX } from "./frames.ts";

/** A client whose line connection is open, and the tap between it and the daemon. The second call opens the line connection. */
async function onLineConnection(rig: HttpRig, by = "mo"): Promise<AsyncDisposable & { client: Client; tap: Tap }> {
  const tap = await openTap(rig.server.socket);
  const client = connect({ socket: tap.socket }, { by });
  while (tap.lineConnections === 0) await client.info();
  await client.info();
  return {
    client,
    tap,
    async [Symbol.asyncDispose]() {
      client.close();
      await tap[Symbol.asyncDispose]();
    },
  };
}

describe("a client with a line connection", () => {
  test("asks everything over one connection, also while it waits", async () => {
    const { promise: given, resolve: give } = Promise.withResolvers<typeof GRANT>();
    await using rig = await httpRig({ claim: () => given });
    await using there = await onLineConnection(rig);
    const { client } = there;
    const before = there.tap.opened;
    const claims = Array.from({ length: 50 }, () => client.claim({ session: "s1", waitMs: 60_000 }));
    expect(await client.sessions()).toHaveLength(1);
    expect(there.tap.opened).toBe(before);
    give(GRANT);
    expect(await Promise.all(claims)).toEqual(Array(50).fill(GRANT));
  });

  test("reports over a connection of its own while hundreds of its calls wait", async () => {
    await using rig = await httpRig({ claim: (_, caller) => untilGivenUp(caller) });
    await using there = await onLineConnection(rig);
    const { client, tap } = there;
    const over = new AbortController();
    const wait = { session: "s1", waitMs: 60_000 };
    const claims = Array.from({ length: 520 }, () =>
      client.claim(wait, { signal: over.signal }).catch(() => undefined),
    );
    const before = tap.opened;
    expect(await client.sessions()).toHaveLength(1);
    expect(tap.opened).toBeGreaterThan(before);
    over.abort();
    await Promise.all(claims);
  });

  test("is named as it says, and each call may say otherwise", async () => {
    await using rig = await httpRig();
    await using there = await onLineConnection(rig, "mo");
    const { client } = there;
    await client.claim({ session: "s1" });
    await client.claim({ session: "s1" }, { by: "jo" });
    expect(rig.asked.slice(-2).map(({ given }) => (given[1] as { by: string }).by)).toEqual(["mo", "jo"]);
  });

  test("hears refusals as the errors they were, and nothing as nothing", async () => {
    await using rig = await httpRig({ claim: () => undefined });
    await using there = await onLineConnection(rig);
    const { client } = there;
    expect(await client.claim({ session: "s1" })).toBeUndefined();
    await expect(client.claim({ session: 3 as never })).rejects.toMatchObject({ code: "REQUEST_INVALID" });
  });

  test("gives up a wait when it is told to, and the daemon hears of it", async () => {
    const { promise: heard, resolve } = Promise.withResolvers<void>();
    await using rig = await httpRig({ claim: (_, caller) => untilGivenUp(caller).then(resolve) });
    await using there = await onLineConnection(rig);
    const { client } = there;
    const over = new AbortController();
    const claim = client.claim({ session: "s1", waitMs: 60_000 }, { signal: over.signal });
    await client.info();
    over.abort(new Error("enough"));
    await expect(claim).rejects.toThrow("enough");
    await heard;
    await expect(client.info({ signal: over.signal })).rejects.toThrow("enough");
    expect(await client.info()).toBeDefined();
  });

  test("sends what is too large for a line as a request of its own", async () => {
    await using rig = await httpRig();
    await using there = await onLineConnection(rig);
    const { client } = there;
    const text = "é".repeat(LINE_MAX);
    await client.submit({ text, file: "plan.yaml", directory: "/w" });
    expect(rig.asked.at(-1)).toMatchObject({ method: "submit", given: [{ text }, {}] });
  });

  test("that lost its daemon repeats what may be repeated, and says so otherwise", async () => {
    await using rig = await httpRig({ claim: (_, caller) => untilGivenUp(caller).then(() => GRANT) });
    await using there = await onLineConnection(rig);
    const { client } = there;
    const once = client.claim({ session: "s1", waitMs: 60_000 }).catch((error: unknown) => error);
    const again = client.claim({ session: "s1", waitMs: 60_000, key: "k" }).catch((error: unknown) => error);
    await client.info();
    there.tap.drop();
    expect(await once).toMatchObject({ code: "DAEMON_STOPPING" });
    // The call waits again, over a connection of its own.
    expect(await client.info()).toBeDefined();
    await rig.server.close();
    expect(await again).toEqual(GRANT);
  });

  test("that is closed gives up what is underway", async () => {
    await using rig = await httpRig({ claim: (_, caller) => untilGivenUp(caller) });
    await using there = await onLineConnection(rig);
    const { client } = there;
    const claim = client.claim({ session: "s1", waitMs: 60_000, key: "k" });
    client.close();
    await expect(claim).rejects.toMatchObject({ code: "DAEMON_STOPPING" });
  });
});

test("where the daemon knows no line connections, every call goes by request", async () => {
  const paths: string[] = [];
  await using old = await listening(
    createServer((request, response) => {
      paths.push(request.url ?? "");
      response.writeHead(request.url === "/v1/daemon" ? 200 : 404, { "content-type": "application/json" }).end("{}");
    }),
  );
  await using client = connect({ socket: old.socket });
  for (let at = 0; at < 6; at++) await client.info();
  expect(paths.filter((path) => path === "/v1/daemon")).toHaveLength(6);
  expect(paths.filter((path) => path !== "/v1/daemon")).toEqual(["/v1/channel"]);
});

test("what answers in another tongue is not taken for an answer", async () => {
  const server = createServer((_, response) =>
    response.writeHead(200, { "content-type": "application/json" }).end("{}"),
  );
  server.on("upgrade", (_, socket) => {
    socket.write("HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: rota-lines\r\n\r\n");
    socket.on("data", () => socket.write("what?\n")).on("error", () => undefined);
  });
  await using other = await listening(server);
  await using client = connect({ socket: other.socket });
  const answers = [];
  for (let at = 0; at < 6; at++) answers.push(await client.info().catch((error: { code: string }) => error.code));
  expect(answers).toContain("DAEMON_FAILED");
});

async function listening(server: Server): Promise<AsyncDisposable & { readonly socket: string }> {
  const socket = join(mkdtempSync(join(tmpdir(), "rota-wire-")), "s.sock");
  server.listen(socket);
  await once(server, "listening");
  return {
    socket,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
    },
  };
}
