import { once } from "node:events";
import { request as open } from "node:http";
import { describe, expect, test } from "vitest";
import { type HttpRig, heard, httpRig } from "../../test/rig/http.ts";
import { memoryOf } from "../effects/host.ts";
import { BODY_BYTES, LIMITS } from "./limits.ts";

const MiB = 1024 * 1024;
const POST_CLAIM = "POST /v1/claims HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";

/** Sends `total` bytes of body as fast as they are taken; gives the status, and how much was sent by then. */
function flood(
  rig: HttpRig,
  headers: Record<string, string | number>,
  total: number,
): Promise<{ status: number; sent: number }> {
  const chunk = Buffer.alloc(MiB, "a");
  let sent = 0;
  return new Promise((resolve, reject) => {
    const request = open({
      ...{ socketPath: rig.server.socket, method: "POST", path: "/v1/claims", agent: false },
      headers: { host: "localhost", "content-type": "application/json", ...headers },
    });
    const write = (): void => {
      while (sent < total && !request.destroyed) {
        sent += chunk.length;
        if (!request.write(chunk)) return void request.once("drain", write);
      }
      request.end();
    };
    request.once("response", (answer) => {
      answer.resume();
      resolve({ status: answer.statusCode ?? 0, sent });
    });
    // Once there is an answer, the end of the connection is expected.
    request.on("error", reject);
    write();
  });
}

describe("a body", () => {
  test.each([
    ["that says it has a gigabyte", { "content-length": 1024 * MiB }],
    ["that does not say how much it has", { "transfer-encoding": "chunked" }],
  ])("%s is refused with flat memory", async (_, headers) => {
    await using rig = await httpRig();
    await flood(rig, headers, 4 * MiB);
    const before = memoryOf(process.pid)?.resident ?? 0;
    const { status } = await flood(rig, headers, 1024 * MiB);
    expect(status).toBe(413);
    expect((memoryOf(process.pid)?.resident ?? 0) - before).toBeLessThan(20 * MiB);
    expect(rig.asked).toEqual([]);
    expect((await rig.send({})).status).toBe(200);
  });

  test("one byte over is refused, the last byte is not", async () => {
    await using rig = await httpRig();
    const bare = JSON.stringify({ session: "s1", key: "" });
    const padded = (bytes: number) => `${" ".repeat(bytes - bare.length + 1)}${bare.replace(`""`, `"k"`)}`;
    const post = { method: "POST", path: "/v1/claims" };
    expect((await rig.send({ ...post, body: padded(BODY_BYTES - 2) })).status).toBe(200);
    const { status, body, headers } = await rig.send({ ...post, body: padded(BODY_BYTES + 1) });
    expect([status, JSON.parse(body).error.code, headers.connection]).toEqual([413, "REQUEST_TOO_LARGE", "close"]);
  });

  test("of a plan may be larger", async () => {
    await using rig = await httpRig();
    const body = JSON.stringify({ text: "x".repeat(3 * MiB), file: "p", directory: "/w" });
    expect((await rig.send({ method: "POST", path: "/v1/runs", body })).status).toBe(200);
  });

  test("is not even asked for when it would be refused", async () => {
    await using rig = await httpRig();
    const socket = rig.raw();
    const answer = heard(socket);
    socket.write(`${POST_CLAIM}content-length: ${2 * MiB}\r\nexpect: 100-continue\r\n\r\n`);
    const [first] = await once(socket, "data");
    expect(String(first)).toMatch(/^HTTP\/1.1 413 /);
    socket.end();
    await answer;
  });

  test("is asked for when it is welcome", async () => {
    await using rig = await httpRig();
    const socket = rig.raw();
    const body = `{"session":"s1"}`;
    socket.write(`${POST_CLAIM}content-length: ${body.length}\r\nexpect: 100-continue\r\n\r\n`);
    expect(String((await once(socket, "data"))[0])).toBe("HTTP/1.1 100 Continue\r\n\r\n");
    socket.write(body);
    expect(String((await once(socket, "data"))[0])).toMatch(/^HTTP\/1.1 200 /);
    socket.destroy();
  });

  test("that is refused is not taken to its end", async () => {
    await using rig = await httpRig();
    const socket = rig.raw();
    const closed = heard(socket);
    socket.write(`${POST_CLAIM}content-length: ${1024 * MiB}\r\n\r\n`);
    const chunk = Buffer.alloc(MiB, "a");
    let taken = 0;
    const write = (): void => {
      while (socket.write(chunk, () => taken++));
      socket.once("drain", write);
    };
    write();
    expect(await closed).toMatch(/^HTTP\/1.1 413 /);
    expect(taken).toBeGreaterThan(32);
    expect(taken).toBeLessThan(128);
  });

  test("that is refused lingers no longer than a moment", async () => {
    await using rig = await httpRig();
    const socket = rig.raw();
    const closed = heard(socket);
    socket.write(`${POST_CLAIM}content-length: ${2 * MiB}\r\n\r\n{`);
    await once(socket, "data");
    await rig.clock.advance(1_000);
    expect(await closed).toMatch(/^HTTP\/1.1 413 /);
  });
});

describe("a peer that is slow on purpose", () => {
  const limits = { headersMs: 60, requestMs: 120, checkMs: 10 };

  test("is let go when its headers take too long, and hears why", async () => {
    await using rig = await httpRig({}, { limits: { ...limits, requestMs: 60_000 } });
    const socket = rig.raw();
    const answer = heard(socket);
    socket.write("GET /v1/daemon HTTP/1.1\r\nhost: loc");
    expect(await answer).toMatch(/^HTTP\/1.1 408 [\s\S]*"REQUEST_SLOW"/);
  });

  test("is let go when its body takes too long", async () => {
    await using rig = await httpRig({}, { limits });
    const socket = rig.raw();
    const answer = heard(socket);
    socket.write(`${POST_CLAIM}content-length: 100\r\n\r\n{`);
    expect(await answer).toMatch(/^HTTP\/1.1 408 /);
    expect(rig.asked).toEqual([]);
  });

  test("is let go when it says nothing at all", async () => {
    await using rig = await httpRig({}, { limits });
    await heard(rig.raw());
  });

  test("does not keep others waiting, however many of it there are", async () => {
    await using rig = await httpRig();
    const slow = Array.from({ length: 500 }, () => rig.raw());
    await Promise.all(slow.map((socket) => once(socket, "connect")));
    for (const socket of slow) socket.write("POST /v1/claims HTTP/1.1\r\nhost: l");
    expect((await rig.send({})).status).toBe(200);
    for (const socket of slow) socket.destroy();
  });
});

test("time-outs are as short as they should be, by default", () => {
  expect(LIMITS.headersMs).toBeLessThanOrEqual(10_000);
  expect(LIMITS.requestMs).toBeLessThanOrEqual(30_000);
});

test("more connections than there may be are not taken, and those there are go on", async () => {
  await using rig = await httpRig({}, { limits: { socketConnections: 2 } });
  const [first, second] = [rig.raw(), rig.raw()];
  await Promise.all([once(first, "connect"), once(second, "connect")]);
  await heard(rig.raw());
  first.write("GET /v1/daemon HTTP/1.1\r\nhost: localhost\r\n\r\n");
  expect(String((await once(first, "data"))[0])).toMatch(/^HTTP\/1.1 200 /);
  first.destroy();
  second.destroy();
});

test("headers that are too large are refused", async () => {
  await using rig = await httpRig();
  const socket = rig.raw();
  const answer = heard(socket);
  socket.write(`GET /v1/daemon HTTP/1.1\r\nhost: localhost\r\nx: ${"x".repeat(20_000)}\r\n\r\n`);
  expect(await answer).toMatch(/^HTTP\/1.1 431 [\s\S]*"REQUEST_TOO_LARGE"/);
});

test("what is not HTTP is answered in its own words", async () => {
  await using rig = await httpRig();
  const socket = rig.raw();
  const answer = heard(socket);
  socket.write("\x16\x03\x01 hello\r\n\r\n");
  expect(await answer).toMatch(/^HTTP\/1.1 400 [\s\S]*"REQUEST_INVALID"/);
});
