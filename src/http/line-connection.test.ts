import { describe, expect, test } from "vitest";
import { httpRig } from "../../test/rig/http.ts";
import { mustOpenLines, openLines } from "../../test/rig/lines.ts";
import { GRANT, untilGivenUp } from "../../test/rig/service.ts";
import { CALLS_MAX, LINE_MAX, LINES_PATH } from "../wire/frames.ts";
import { ROUTES } from "../wire/routes.ts";

const CLAIM = ROUTES.claim.path;

const claim = (id: number, more: object = {}) => ({
  id,
  method: "POST",
  path: CLAIM,
  body: { session: "s1", ...more },
});
const look = (id: number) => ({ id, method: "GET", path: "/v1/daemon" });
const codeOf = ({ body }: { readonly body?: unknown }): string => (body as { error: { code: string } }).error.code;

describe("a line connection", () => {
  test("answers each call under its number, and a call that waits does not hold up the others", async () => {
    const { promise: given, resolve: give } = Promise.withResolvers<typeof GRANT>();
    await using rig = await httpRig({ claim: () => given });
    const lines = await mustOpenLines(rig);
    lines.say(claim(7, { waitMs: 60_000 }), look(8));
    expect(await lines.answer(8)).toMatchObject({ id: 8, status: 200, body: { version: "0.1.0" } });
    expect(lines.heard).toHaveLength(1);
    give(GRANT);
    expect(await lines.answer(7)).toEqual({ id: 7, status: 200, body: GRANT });
    expect(await lines.ask({ id: 9, method: "DELETE", path: "/v1/sessions/s1" })).toEqual({ id: 9, status: 204 });
  });

  test("takes lines in pieces and many at once, and answers everything", async () => {
    await using rig = await httpRig();
    const lines = await mustOpenLines(rig);
    const text = Array.from({ length: 3_000 }, (_, id) => `${JSON.stringify(look(id))}\n`).join("");
    for (let at = 0; at < text.length; at += 7_919) lines.socket.write(text.slice(at, at + 7_919));
    await Promise.all(Array.from({ length: 3_000 }, (_, id) => lines.answer(id)));
    expect(lines.heard).toHaveLength(3_000);
  });

  test("ends a wait that is given up, and answers it", async () => {
    await using rig = await httpRig({ claim: (_, caller) => untilGivenUp(caller) });
    const lines = await mustOpenLines(rig);
    lines.say(
      claim(1, { waitMs: 60_000 }),
      claim(2, { waitMs: 60_000 }),
      { id: 1, cancel: true },
      { id: 99, cancel: true },
    );
    expect(await lines.answer(1)).toEqual({ id: 1, status: 204 });
    expect(lines.heard).toHaveLength(1);
  });

  test("ends the waits of a peer that is gone", async () => {
    const { promise: over, resolve } = Promise.withResolvers<void>();
    await using rig = await httpRig({ claim: (_, caller) => untilGivenUp(caller).then(resolve) });
    const lines = await mustOpenLines(rig);
    lines.say(claim(1, { waitMs: 60_000 }));
    await lines.ask(look(2));
    lines.socket.destroy();
    await over;
  });

  test("says who calls, of the line connection or of the call", async () => {
    await using rig = await httpRig();
    const lines = await mustOpenLines(rig, { headers: { "rota-by": "mo" } });
    await lines.ask(claim(1));
    await lines.ask({ ...claim(2), by: "another – ✓" });
    expect(rig.asked.map(({ given }) => (given[1] as { by: string }).by)).toEqual(["mo", "another – ✓"]);
    expect(await lines.ask({ ...claim(3), by: "a\u0000b" })).toMatchObject({ status: 400 });
  });

  test("refuses a call as a request would be, and goes on", async () => {
    await using rig = await httpRig();
    const lines = await mustOpenLines(rig);
    const refused = [
      [{ method: "GET", path: "/v1/nowhere" }, 404, "ROUTE_UNKNOWN"],
      [{ method: "PATCH", path: CLAIM }, 405, "METHOD_REFUSED"],
      [{ method: "POST", path: CLAIM, body: { session: 3 } }, 400, "REQUEST_INVALID"],
      [{ method: "POST", path: CLAIM, body: { session: "s1", more: 1 } }, 400, "REQUEST_INVALID"],
      [{ method: "POST", path: CLAIM }, 400, "REQUEST_INVALID"],
      [{ path: "/v1/daemon" }, 400, "REQUEST_INVALID"],
      [{ method: "GET", path: "/v1/events?follow=true" }, 400, "REQUEST_INVALID"],
      [{ method: "GET", path: "/v1/sessions/s1/wakes" }, 400, "REQUEST_INVALID"],
      [{ method: "GET", path: "/v1/channel" }, 404, "ROUTE_UNKNOWN"],
      [{ method: "POST", path: `${CLAIM}?session=s1`, body: { session: "s1" } }, 400, "REQUEST_INVALID"],
    ] as const;
    for (const [id, [line, status, code]] of refused.entries()) {
      const answer = await lines.ask({ id, ...line });
      expect([line, answer.status, codeOf(answer)]).toEqual([line, status, code]);
    }
    expect(await lines.ask(look(100))).toMatchObject({ status: 200 });
    expect(rig.faults).toEqual([]);
  });

  test("tells no caller what was the daemon's own fault, but reports it inside", async () => {
    const fault = new Error("broken inside");
    await using rig = await httpRig({ info: () => Promise.reject(fault) });
    const lines = await mustOpenLines(rig);
    const answer = await lines.ask(look(1));
    expect([answer.status, codeOf(answer)]).toEqual([500, "DAEMON_FAILED"]);
    expect(JSON.stringify(answer)).not.toContain("broken inside");
    expect(rig.faults).toEqual([fault]);
  });

  test.each([
    ["what is not JSON", "hello\n", "NOT_JSON"],
    ["what is not UTF-8", Buffer.from([0x22, 0xff, 0x22, 10]), "NOT_JSON"],
    ["nothing", "null\n", "REQUEST_INVALID"],
    ["a call without a number", '{"method":"GET","path":"/v1/daemon"}\n', "REQUEST_INVALID"],
    ["a number that is none", '{"id":-1}\n', "REQUEST_INVALID"],
    ["a line without an end", "x".repeat(LINE_MAX + 1), "REQUEST_TOO_LARGE"],
    ["a line that is too long", `${"x".repeat(LINE_MAX + 1)}\n`, "REQUEST_TOO_LARGE"],
  ])("breaks off at %s, and says why", async (_, text, code) => {
    await using rig = await httpRig();
    const lines = await mustOpenLines(rig);
    lines.socket.write(text);
    await lines.closed;
    expect(lines.heard.map(({ id, ...answer }) => [id, codeOf(answer)])).toEqual([[-1, code]]);
    expect(rig.asked).toEqual([]);
  });

  test("breaks off when a number is used twice at the same time", async () => {
    await using rig = await httpRig({ claim: (_, caller) => untilGivenUp(caller) });
    const lines = await mustOpenLines(rig);
    lines.say(claim(1, { waitMs: 60_000 }), claim(1, { waitMs: 60_000 }));
    await lines.closed;
    expect(lines.heard.map(codeOf)).toEqual(["REQUEST_INVALID"]);
  });

  test("takes so many calls and no more, and still hears which are given up", async () => {
    await using rig = await httpRig({ claim: (_, caller) => untilGivenUp(caller) });
    const lines = await mustOpenLines(rig);
    lines.say(...Array.from({ length: CALLS_MAX }, (_, id) => claim(id, { waitMs: 60_000 })));
    expect(codeOf(await lines.ask(look(CALLS_MAX)))).toBe("REQUEST_INVALID");
    lines.say({ id: 7, cancel: true });
    expect(await lines.answer(7)).toEqual({ id: 7, status: 204 });
    expect(await lines.ask(look(CALLS_MAX + 1))).toMatchObject({ status: 200 });
  });

  test("that lay idle is ended, and what comes then is not done", async () => {
    await using rig = await httpRig({}, { limits: { idleMs: 20 } });
    const lines = await mustOpenLines(rig);
    await new Promise((resolve) => void lines.socket.once("end", resolve));
    lines.say(claim(1));
    await rig.clock.advance(60_000);
    await lines.closed;
    expect(rig.asked).toEqual([]);
  });

  test("survives a peer that is refused and gone before it hears of it", async () => {
    await using rig = await httpRig();
    for (let no = 0; no < 20; no++) {
      const socket = rig.raw("tcp");
      const host = `127.0.0.1:${rig.port}`;
      socket.on("error", () => undefined);
      socket.write(`GET ${LINES_PATH} HTTP/1.1\r\nhost: ${host}\r\nconnection: Upgrade\r\nupgrade: rota-lines\r\n\r\n`);
      await new Promise((resolve) => void socket.once("connect", resolve));
      socket.resetAndDestroy();
    }
    expect((await rig.send({})).status).toBe(200);
  });

  test("breaks off when a line takes too long to arrive, however often a little of it comes", async () => {
    await using rig = await httpRig();
    const lines = await mustOpenLines(rig);
    lines.socket.write(`${JSON.stringify(look(0))}\n{`);
    await lines.answer(0);
    for (let no = 1; no <= 3; no++) {
      lines.socket.write(" ");
      // Answered on another connection: by then this one has been read.
      await rig.send({});
      await rig.clock.advance(20_000);
    }
    await lines.closed;
    expect(lines.heard.slice(1).map(codeOf)).toEqual(["REQUEST_SLOW"]);
  });

  test("breaks off when a line takes too long to arrive", async () => {
    await using rig = await httpRig();
    const lines = await mustOpenLines(rig);
    lines.socket.write(`${JSON.stringify(look(2))}\n{"id":1,`);
    await lines.answer(2);
    await rig.clock.advance(60_000);
    await lines.closed;
    expect(lines.heard.slice(1).map(codeOf)).toEqual(["REQUEST_SLOW"]);
  });

  test("ends with the server: waiting callers are told, and then it closes", async () => {
    await using rig = await httpRig({ claim: (_, caller) => untilGivenUp(caller) });
    const lines = await mustOpenLines(rig);
    lines.say(claim(1, { waitMs: 60_000 }));
    await lines.ask(look(2));
    await rig.server.close();
    await lines.closed;
    expect(lines.heard.map(({ id, status }) => [id, status])).toEqual([
      [2, 200],
      [1, 204],
    ]);
  });

  test("is not opened for a page, nor for what asks for another protocol", async () => {
    await using rig = await httpRig();
    expect(await openLines(rig, { headers: { origin: "https://evil.example" } })).toMatch(/^HTTP\/1\.1 403 .*ORIGIN/s);
    expect(await openLines(rig, { headers: { host: "evil.example" } })).toMatch(/^HTTP\/1\.1 403 /);
    expect(await openLines(rig, { headers: { upgrade: "websocket", connection: "Upgrade, close" } })).toMatch(
      /^HTTP\/1\.1 404 /,
    );
  });
});
