import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { heard, httpRig } from "../../test/rig/http.ts";
import { always } from "../../test/rig/property.ts";
import { untilGivenUp } from "../../test/rig/service.ts";
import { UserError } from "../domain/errors.ts";
import { REFUSAL } from "../wire/answers.ts";
import type { Route } from "../wire/route.ts";
import { ROUTES } from "../wire/routes.ts";
import { readRequest } from "./input.ts";

const post = (path: string, body: string) => ({ method: "POST", path, body });

describe("a request", () => {
  test("is read by its schema, with what was left out filled in, and who calls", async () => {
    await using rig = await httpRig();
    await rig.send({ ...post("/v1/claims", `{"session":"s1"}`), headers: { "rota-by": "Mo%20%C3%84." } });
    expect(rig.asked).toEqual([
      {
        method: "claim",
        given: [
          { session: "s1", waitMs: 0 },
          { by: "Mo Ä.", scope: "admin", authority: { isAdmin: true } },
        ],
      },
    ]);
  });

  test("has names in its path, however they are written", async () => {
    await using rig = await httpRig();
    await rig.send({ path: "/v1/runs/last/tasks/build%2Fa%20b/why" });
    expect(rig.asked).toEqual([{ method: "why", given: ["last", "build/a b"] }]);
  });

  test.each([
    ["a control character", "/v1/runs/%00", "{run} in the path has the control character U+0000, which no name has"],
    [
      "another",
      "/v1/runs/last/tasks/a%0Ab/why",
      "{task} in the path has the control character U+000A, which no name has",
    ],
    ["no UTF-8", "/v1/runs/%ff", "{run} in the path is not UTF-8 in percent encoding"],
    ["half an escape", "/v1/runs/%e", "{run} in the path is not UTF-8 in percent encoding"],
    ["too much", `/v1/runs/${"x".repeat(129)}`, "{run} in the path has 129 characters, and may have 128"],
  ])("is told what is wrong with a name in its path: %s", async (_, path, message) => {
    await using rig = await httpRig();
    const { status, body } = await rig.send({ path });
    expect({ status, ...(JSON.parse(body) as object) }).toMatchObject({
      status: 400,
      error: { code: "REQUEST_INVALID", message },
    });
    expect(rig.asked).toEqual([]);
  });

  test("has numbers and truths in its query", async () => {
    await using rig = await httpRig();
    await rig.send({ path: "/v1/events?run=last&after=7&limit=20&follow=false" });
    expect(rig.asked[0]?.given).toEqual([{ run: "last", after: 7, limit: 20, follow: false }]);
  });

  test("with nothing in its body takes what is usual", async () => {
    await using rig = await httpRig();
    expect((await rig.send({ ...post("/v1/pause", "") })).status).toBe(200);
  });

  test.each([
    ["an unknown key", "/v1/claims", `{"session":"s1","sesion":1}`, /"sesion" is not a field.*Did you mean "session"/],
    ["the wrong kind of value", "/v1/claims", `{"session":1}`, /session must be text/],
    ["nothing where something is needed", "/v1/claims", `{}`, /lacks "session"/],
    ["a list", "/v1/claims", `[]`, /must be a map/],
    ["a wait that is too long", "/v1/claims", `{"session":"s","waitMs":1e9}`, /waitMs must be/],
    ["`__proto__`", "/v1/claims", `{"session":"s1","__proto__":{"waitMs":1}}`, /"__proto__" cannot be used/],
    ["`constructor`", "/v1/claims", `{"session":"s1","constructor":1}`, /"constructor" cannot be used/],
    ["what stands in the query of a POST", "/v1/claims?session=s1", `{"session":"s1"}`, /stands in its body/],
  ])("is refused for %s", async (_, path, body, message) => {
    await using rig = await httpRig();
    const answer = await rig.send(post(path, body));
    const { error } = JSON.parse(answer.body);
    expect([answer.status, error.code]).toEqual([400, "REQUEST_INVALID"]);
    expect(error.message).toMatch(message);
    expect(rig.asked).toEqual([]);
  });

  test.each([
    ["a key that stands twice", "/v1/events?after=1&after=2"],
    ["an unknown key", "/v1/events?token=secret"],
    ["a number that is none", "/v1/events?after=one"],
    ["half a character in the path", "/v1/runs/%ff"],
    ["a path without an end", `/v1/runs/${"a".repeat(129)}`],
  ])("to look is refused for %s", async (_, path) => {
    await using rig = await httpRig();
    const { status, body } = await rig.send({ path });
    expect([status, JSON.parse(body).error.code]).toEqual([400, "REQUEST_INVALID"]);
    expect(rig.asked).toEqual([]);
  });

  test.each([
    ["half of it", `{"session":`],
    ["other text", "session=s1"],
  ])("is not JSON when it is %s", async (_, body) => {
    await using rig = await httpRig();
    const answer = await rig.send(post("/v1/claims", body));
    expect([answer.status, JSON.parse(answer.body).error.code]).toEqual([415, "NOT_JSON"]);
  });

  test("is refused when it is compressed, or not UTF-8", async () => {
    await using rig = await httpRig();
    const zipped = await rig.send({ ...post("/v1/claims", "{}"), headers: { "content-encoding": "gzip" } });
    expect(zipped.status).toBe(415);
    const socket = rig.raw();
    const answer = heard(socket);
    socket.write(
      "POST /v1/claims HTTP/1.1\r\nhost: l\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: 3\r\n\r\n",
    );
    socket.write(Buffer.from([0x22, 0xff, 0x22]));
    expect(await answer).toMatch(/^HTTP\/1.1 415 /);
  });

  test("that nests without end does no harm", async () => {
    await using rig = await httpRig();
    const deep = `${"[".repeat(500_000)}${"]".repeat(500_000)}`;
    for (const body of [deep, `{"session":${deep}}`, `${`{"a":`.repeat(100_000)}1${"}".repeat(100_000)}`]) {
      expect((await rig.send(post("/v1/claims", body))).status).toBe(400);
    }
  });

  test("of any kind at all is answered, and never by our own fault", async () => {
    await using rig = await httpRig();
    const routes = Object.values(ROUTES).filter(({ method }) => method === "POST") as Route[];
    const value = fc.oneof(
      fc.json(),
      fc.object().map((each) => JSON.stringify(each)),
      fc.string(),
    );
    await always(
      300,
      fc.asyncProperty(fc.constantFrom(...routes), value, async ({ path }, body) => {
        const { status, body: text } = await rig.send(post(path.replace("{session}", "s1"), body));
        expect([200, 400, 415]).toContain(status);
        if (status !== 200) readRequest(REFUSAL, JSON.parse(text));
      }),
    );
    expect(rig.faults).toEqual([]);
  });
});

describe("an answer", () => {
  test("says nothing where there is nothing to say", async () => {
    await using rig = await httpRig({ claim: () => undefined });
    const { status, body } = await rig.send(post("/v1/claims", `{"session":"s1"}`));
    expect([status, body]).toEqual([204, ""]);
  });

  test("to what cannot be done has a code, a message, a hint, and the diagnostics of a plan", async () => {
    const diagnostics = [
      { code: "PLAN_CYCLE", severity: "error", message: "a → a", file: "p", line: 1, column: 2, hint: "Mend it." },
    ];
    await using rig = await httpRig({
      submit: () => Promise.reject(new UserError("PLAN_INVALID", "p cannot be run", { diagnostics })),
      cancel: () => Promise.reject(new UserError("CANNOT_CANCEL", "It has ended")),
      status: () => Promise.reject(new UserError("RUN_UNKNOWN", "There is no run", { hint: "Look." })),
    });
    const submitted = await rig.send(post("/v1/runs", `{"text":"t","file":"p","directory":"/w"}`));
    expect([submitted.status, JSON.parse(submitted.body)]).toEqual([
      422,
      { error: { code: "PLAN_INVALID", message: "p cannot be run", hint: expect.any(String), diagnostics } },
    ]);
    expect((await rig.send(post("/v1/cancel", "{}"))).status).toBe(409);
    const unknown = await rig.send({ path: "/v1/runs/r9" });
    expect([unknown.status, JSON.parse(unknown.body)]).toEqual([
      404,
      { error: { code: "RUN_UNKNOWN", message: "There is no run", hint: "Look." } },
    ]);
  });

  test.each([
    [
      "is thrown",
      () => {
        throw new TypeError("secret at /home/mo/x.ts:3");
      },
    ],
    ["comes later", () => Promise.reject(new TypeError("secret at /home/mo/x.ts:3"))],
    ["comes with the answer", () => ({ a: 1n })],
  ])("to a fault of ours that %s says only that there was one", async (_, info) => {
    await using rig = await httpRig({ info });
    const { status, body } = await rig.send({});
    expect([status, JSON.parse(body).error.code]).toEqual([500, "DAEMON_FAILED"]);
    expect(body).not.toMatch(/secret|home/);
    expect(rig.faults).toHaveLength(1);
  });
});

describe("a call that waits", () => {
  const claim = post("/v1/claims", `{"session":"s1","waitMs":600000}`);
  const requestText = `POST /v1/claims HTTP/1.1\r\nhost: l\r\ncontent-type: application/json\r\ncontent-length: ${claim.body.length}\r\n\r\n${claim.body}`;

  test("ends when its caller goes away", async () => {
    let given: AbortSignal | undefined;
    const { promise: waiting, resolve: begun } = Promise.withResolvers<void>();
    const { promise: over, resolve: ended } = Promise.withResolvers<void>();
    await using rig = await httpRig({
      claim: async (_, caller) => {
        given = caller.signal;
        begun();
        await untilGivenUp(caller);
        ended();
      },
    });
    const socket = rig.raw();
    socket.write(requestText);
    await waiting;
    expect(given?.aborted).toBe(false);
    socket.destroy();
    await over;
  });

  test("is not given up when it has been answered", async () => {
    let given: AbortSignal | undefined;
    await using rig = await httpRig({
      claim: (_, { signal }) => {
        given = signal;
      },
    });
    await rig.send(claim);
    expect(given?.aborted).toBe(false);
  });

  test("has no signal when it need not wait", async () => {
    await using rig = await httpRig();
    await rig.send(post("/v1/claims", `{"session":"s1"}`));
    expect(rig.asked[0]?.given[1]).not.toHaveProperty("signal");
  });

  test("is answered with nothing when the server closes, so no caller hangs", async () => {
    const { promise: waiting, resolve: begun } = Promise.withResolvers<void>();
    await using rig = await httpRig({
      claim: (_, caller) => {
        begun();
        return untilGivenUp(caller);
      },
    });
    // Over a connection that would be kept: the peer does not come back to it, so the server must not wait for it.
    const socket = rig.raw();
    const answer = heard(socket);
    socket.write(requestText);
    await waiting;
    await rig.server.close();
    expect(await answer).toMatch(/^HTTP\/1.1 204 No Content\r\n[\s\S]*Connection: close/);
  });

  test("that breaks off because the server closes may be asked again", async () => {
    const { promise: waiting, resolve: begun } = Promise.withResolvers<void>();
    await using rig = await httpRig({
      claim: async (_, caller) => {
        begun();
        await untilGivenUp(caller);
        throw new Error("aborted");
      },
    });
    const answer = rig.send(claim);
    await waiting;
    await rig.server.close();
    expect([(await answer).status, JSON.parse((await answer).body).error.code]).toEqual([503, "DAEMON_STOPPING"]);
    expect(rig.faults).toEqual([]);
  });
});

describe("closing", () => {
  test("lets what is underway finish", async () => {
    const { promise: answerable, resolve: release } = Promise.withResolvers<void>();
    const { promise: asked, resolve: begun } = Promise.withResolvers<void>();
    await using rig = await httpRig({
      runs: async () => {
        begun();
        await answerable;
        return [];
      },
    });
    const answer = rig.send({ path: "/v1/runs" });
    await asked;
    const closed = rig.server.close();
    release();
    expect((await answer).body).toBe("[]");
    await closed;
  });

  test("does not wait for ever for what does not end, and closing twice is harmless", async () => {
    const { promise: asked, resolve: begun } = Promise.withResolvers<void>();
    await using rig = await httpRig({
      runs: () => {
        begun();
        return new Promise(() => undefined);
      },
    });
    const answer = rig.send({ path: "/v1/runs" }).catch((error) => error.code);
    await asked;
    const closed = Promise.all([rig.server.close(), rig.server.close()]);
    await rig.clock.advance(5_000);
    await closed;
    expect(await answer).toBe("ECONNRESET");
  });
});
