/** Every route with every credential: the routes come from the table, so that none can be forgotten. */
import { describe, expect, test } from "vitest";
import { HttpRig, httpRig, type Sent } from "../../test/rig/http.ts";
import { mustOpenLines, openLines } from "../../test/rig/lines.ts";
import { scriptedService } from "../../test/rig/service.ts";
import { METHODS, type Route } from "../wire/route.ts";
import { ROUTES, type RouteName } from "../wire/routes.ts";
import { allows, SCOPES, type Scope } from "../wire/scope.ts";
import type { Mount } from "./mount.ts";

const lease = { run: "r1", task: "build", fence: 1, token: "t" };
/** A valid request for each route that needs one. */
const GOOD: Partial<Record<RouteName, object>> = {
  submit: { text: "tasks: {}", file: "plan.yaml", directory: "/w" },
  claim: { session: "s1" },
  start: lease,
  heartbeat: lease,
  progress: { ...lease, note: "half way" },
  complete: lease,
  fail: lease,
  release: lease,
  edit: { task: "build", changes: "{}" },
  issueToken: { name: "ci", scope: "read" },
};
const routes = (Object.entries(ROUTES) as [RouteName, Route][]).map(([name, route]) => ({ name, ...route }));

/** The right request for a route. A stream is left out: it does not end. */
const asking = (name: RouteName): Sent => {
  const { method, path } = ROUTES[name];
  const filled = path.replace("{token}", "none").replace(/\{\w+\}/g, "x1");
  return { method, path: filled, ...(method === "POST" && { body: JSON.stringify(GOOD[name] ?? {}) }) };
};

/** What the service was asked, and the tokens: issuing and revoking do not reach the service. */
const effects = async (rig: Awaited<ReturnType<typeof httpRig>>): Promise<object> => {
  const asked = [...rig.asked];
  const { body } = await rig.send({ path: "/v1/tokens" });
  return { asked, tokens: JSON.parse(body) };
};

async function issue(rig: HttpRig, scope: Scope, expiresMs?: number): Promise<string> {
  const body = JSON.stringify({ name: `${scope} token`, scope, ...(expiresMs !== undefined && { expiresMs }) });
  const answer = await rig.send({ method: "POST", path: "/v1/tokens", body });
  return (JSON.parse(answer.body) as { token: string }).token;
}

describe("over TCP", () => {
  test("no route answers without a token, or with a token that is wrong, made up, expired or revoked", async () => {
    await using rig = await httpRig();
    const expired = await issue(rig, "admin", 1_000);
    const revoked = await issue(rig, "admin");
    await rig.send({ method: "DELETE", path: `/v1/tokens/${revoked.split("_")[1]}` });
    await rig.clock.advance(1_000);
    const before = await effects(rig);
    for (const { name } of routes) {
      for (const token of [undefined, "", expired, revoked]) {
        const { status, headers } = await rig.send({ ...asking(name), over: "tcp", token });
        expect([name, token, status]).toEqual([name, token, 401]);
        expect(headers["www-authenticate"]).toBe("Bearer");
      }
      for (const token of ["wrong", `${rig.ownerToken}x`, rig.ownerToken.replace("owner", "root")]) {
        expect((await rig.send({ ...asking(name), over: "tcp", token })).status).toBe(401);
        await rig.clock.advance(60_000);
      }
    }
    expect(await effects(rig)).toEqual(before);
  });

  test.each(SCOPES)("a token of scope %s does what it allows, and nothing beyond", async (scope) => {
    await using rig = await httpRig();
    const token = await issue(rig, scope);
    for (const { name, scope: needs, stream } of routes) {
      const before = await effects(rig);
      const allowed = allows(scope, needs);
      // A stream does not end by itself; its refusal can be seen without reading it.
      if (allowed && stream === "wakes") continue;
      const { status } = await rig.send({ ...asking(name), over: "tcp", token });
      const unknown = name === "revokeToken" ? 404 : 200;
      expect([name, status]).toEqual([name, allowed ? (name === "leave" ? 204 : unknown) : 403]);
      if (!allowed) expect(await effects(rig)).toEqual(before);
    }
  });

  test.each(SCOPES)("a line connection with a token of scope %s is no way around it", async (scope) => {
    await using rig = await httpRig();
    const lines = await mustOpenLines(rig, { over: "tcp", token: await issue(rig, scope) });
    for (const [id, { name, scope: needs, stream }] of routes.entries()) {
      const { body, ...line } = asking(name);
      const { status } = await lines.ask({
        id,
        ...line,
        ...(body !== undefined && { body: JSON.parse(body) as object }),
      });
      const answered = stream === "wakes" ? 400 : name === "leave" ? 204 : name === "revokeToken" ? 404 : 200;
      expect([name, status]).toEqual([name, allows(scope, needs) ? answered : 403]);
    }
  });

  test("no line connection is opened without a right token, and on an open one a token that is revoked opens nothing more", async () => {
    await using rig = await httpRig();
    for (const token of [undefined, "", "wrong"]) {
      expect(await openLines(rig, { over: "tcp", token })).toMatch(/^HTTP\/1\.1 401 /);
    }
    const token = await issue(rig, "admin");
    const lines = await mustOpenLines(rig, { over: "tcp", token });
    expect(await lines.ask({ id: 1, method: "GET", path: "/v1/daemon" })).toMatchObject({ status: 200 });
    await rig.send({ method: "DELETE", path: `/v1/tokens/${token.split("_")[1]}` });
    expect(await lines.ask({ id: 2, method: "GET", path: "/v1/daemon" })).toMatchObject({ status: 401 });
  });

  test("the owner's token does everything, and stands nowhere but in its file", async () => {
    await using rig = await httpRig();
    expect((await rig.send({ over: "tcp", token: rig.ownerToken })).status).toBe(200);
    expect(rig.ownerToken).toMatch(/^rota_owner_[\w-]{43}$/);
    const { body } = await rig.send({ path: "/v1/tokens" });
    expect(body).toBe("[]");
  });

  test("what is done is attributed to the token, whatever the caller says", async () => {
    await using rig = await httpRig();
    const token = await issue(rig, "work");
    await rig.send({ ...asking("claim"), over: "tcp", token, headers: { "rota-by": "another" } });
    expect(rig.asked.at(-1)?.given[1]).toMatchObject({ by: `work token (${token.split("_")[1]})` });
  });
});

test("looking is for all who have a token, working for workers, and saying what runs here for the owner alone", () => {
  const names = (scope: Scope) =>
    routes
      .filter((route) => route.scope === scope)
      .map(({ name }) => name)
      .sort();
  expect(names("read").every((name) => ROUTES[name].method === "GET")).toBe(true);
  expect(names("work")).toEqual([
    ...["assignment", "beat", "claim", "complete", "fail", "heartbeat", "join", "leave", "progress", "release"],
    ...["start", "wake", "wakes"],
  ]);
  expect(names("admin")).toEqual([
    ...["approve", "cancel", "cycle", "drain", "edit", "issueToken", "manifest", "pause", "requeue", "resume", "retry"],
    ...["revokeToken", "submit", "tokens"],
  ]);
});

/** Requests that come from a web page, or through a name that was pointed at this machine from outside. */
const PAGES: readonly (readonly [string, Sent["headers"]])[] = [
  ["a foreign origin", { origin: "https://evil.example" }],
  ["the origin `null`", { origin: "null" }],
  ["the origin of another port here", { origin: "http://localhost:3000" }],
  ["a page of another site", { "sec-fetch-site": "cross-site" }],
  ["a page of the same site", { "sec-fetch-site": "same-site" }],
  ["another host", { host: "evil.example" }],
  ["another host with our port", { host: "evil.example:80" }],
];

describe.each(["socket", "tcp"] as const)("over the %s, with every right", (over) => {
  test.each(PAGES)("no route answers %s", async (_, headers) => {
    await using rig = await httpRig();
    const token = over === "tcp" ? rig.ownerToken : undefined;
    const before = await effects(rig);
    for (const { name } of routes) {
      const answer = await rig.send({ ...asking(name), over, token, headers });
      expect([name, answer.status]).toEqual([name, 403]);
      expect(JSON.parse(answer.body).error.code).toBe("ORIGIN_REFUSED");
    }
    expect(await effects(rig)).toEqual(before);
  });

  test("nothing that changes anything takes another content type", async () => {
    await using rig = await httpRig();
    const token = over === "tcp" ? rig.ownerToken : undefined;
    const before = await effects(rig);
    const types = [
      "text/plain",
      "application/x-www-form-urlencoded",
      "multipart/form-data",
      "application/jsonp",
      undefined,
    ];
    for (const { name, method } of routes) {
      if (method === "GET") continue;
      for (const type of types) {
        // A DELETE without a body has no type; no page can send one without asking first.
        if (method === "DELETE" && type === undefined) continue;
        const answer = await rig.send({ ...asking(name), over, token, headers: { "content-type": type } });
        expect([name, type, answer.status]).toEqual([name, type, 415]);
      }
    }
    expect(await effects(rig)).toEqual(before);
  });

  test("no path takes a method that is not its own, and none of them says that other origins may", async () => {
    await using rig = await httpRig();
    const token = over === "tcp" ? rig.ownerToken : undefined;
    const before = await effects(rig);
    for (const { name, path } of routes) {
      const own = routes.filter((route) => route.path === path).map(({ method }) => method);
      const others = [...METHODS, "PUT", "PATCH", "HEAD", "OPTIONS", "TRACE"].filter(
        (each) => !own.includes(each as "GET"),
      );
      for (const method of others) {
        const { status, headers } = await rig.send({ path: asking(name).path ?? "", method, over, token });
        expect([name, method, status]).toEqual([name, method, 405]);
        expect(headers.allow?.split(", ").sort()).toEqual([...own].sort());
        expect(Object.keys(headers).filter((header) => header.startsWith("access-control"))).toEqual([]);
      }
    }
    expect(await effects(rig)).toEqual(before);
  });

  test.each([
    "/",
    "/v1",
    "/v1/",
    "/v1/runs/",
    "/v1//runs",
    "/v2/runs",
    "/v1/runs/a/b",
    "/V1/runs",
    "/v1/runs/../daemon",
  ])("there is nothing at %s", async (path) => {
    await using rig = await httpRig();
    const { status, body } = await rig.send({ path, over, token: over === "tcp" ? rig.ownerToken : undefined });
    expect([status, JSON.parse(body).error.code]).toEqual([404, "ROUTE_UNKNOWN"]);
  });
});

test("over the socket every route answers without a token", async () => {
  await using rig = await httpRig();
  for (const { name, stream } of routes) {
    if (stream === "wakes") continue;
    const { status, headers } = await rig.send(asking(name));
    expect([name, status]).toEqual([name, name === "revokeToken" ? 404 : name === "leave" ? 204 : 200]);
    expect(headers["cache-control"]).toBe("no-store");
  }
});

test("looking changes nothing: no GET calls anything that does", async () => {
  await using rig = await httpRig();
  for (const { name, method, stream } of routes)
    if (method === "GET" && stream !== "wakes") await rig.send(asking(name));
  const looks = ["runs", "status", "manifest", "await", "why", "events", "sessions", "workers", "info", "stats"];
  expect(rig.asked.map(({ method }) => method).filter((method) => !looks.includes(method))).toEqual([]);
});

test("an origin on the list may call, and another still may not", async () => {
  await using rig = await httpRig({}, { origins: ["http://localhost:5173"] });
  expect((await rig.send({ headers: { origin: "http://localhost:5173" } })).status).toBe(200);
  expect((await rig.send({ headers: { origin: "http://localhost:5174" } })).status).toBe(403);
});

describe("a mount", () => {
  const mount = (calls: unknown[]): Mount => ({
    path: "/mcp",
    methods: ["POST"],
    scope: "work",
    handle({ response, body, caller, allows }) {
      calls.push({ body, by: caller.by, admin: allows("admin") });
      response.end("{}");
    },
  });

  test("is behind the same checks, and learns who calls", async () => {
    const calls: unknown[] = [];
    await using rig = await httpRig({}, { mounts: [mount(calls)] });
    const post = { method: "POST", path: "/mcp", body: `{"a":1}`, over: "tcp" } as const;
    const [read, work] = [await issue(rig, "read"), await issue(rig, "work")];
    const refused = [
      await rig.send(post),
      await rig.send({ ...post, token: read }),
      await rig.send({ ...post, token: work, headers: { origin: "http://evil.example" } }),
      await rig.send({ ...post, token: work, headers: { "content-type": "text/plain" } }),
      await rig.send({ ...post, token: work, method: "DELETE" }),
    ];
    expect(refused.map(({ status }) => status)).toEqual([401, 403, 403, 415, 405]);
    expect(calls).toEqual([]);
    expect((await rig.send({ ...post, token: work })).status).toBe(200);
    expect((await rig.send({ ...post, over: "socket", headers: { "rota-by": "mo" } })).status).toBe(200);
    expect(calls).toEqual([
      { body: { a: 1 }, by: `work token (${work.split("_")[1]})`, admin: false },
      { body: { a: 1 }, by: "mo", admin: true },
    ]);
  });
});

describe("wrong tokens", () => {
  test("lock this machine out after ten in a minute, the right one included, until the minute is over", async () => {
    await using rig = await httpRig();
    const status = async (token: string) => (await rig.send({ over: "tcp", token })).status;
    for (let no = 0; no < 10; no++) expect(await status(`rota_owner_${no}`)).toBe(401);
    const locked = await rig.send({ over: "tcp", token: rig.ownerToken });
    expect([locked.status, locked.headers["retry-after"]]).toEqual([429, "60"]);
    expect((await rig.send({})).status).toBe(200);
    await rig.clock.advance(59_999);
    expect(await status(rig.ownerToken)).toBe(429);
    await rig.clock.advance(1);
    expect(await status(rig.ownerToken)).toBe(200);
  });

  test("do not lock out a connection that has shown the right one", async () => {
    await using rig = await httpRig();
    const head = `GET /v1/daemon HTTP/1.1\r\nhost: 127.0.0.1:${rig.port}\r\nauthorization: Bearer ${rig.ownerToken}\r\n\r\n`;
    const socket = rig.raw("tcp");
    const answers: string[] = [];
    const next = () =>
      new Promise<void>((resolve) => void socket.once("data", (data) => resolve(void answers.push(String(data)))));
    socket.write(head);
    await next();
    for (let no = 0; no < 11; no++) await rig.send({ over: "tcp", token: "wrong" });
    socket.write(head);
    await next();
    socket.destroy();
    expect(answers.map((answer) => answer.slice(0, 15))).toEqual(["HTTP/1.1 200 OK", "HTTP/1.1 200 OK"]);
  });
});

test("nothing is served to a request without a host", async () => {
  const rig = new HttpRig();
  await rig.start(scriptedService());
  await using _ = rig;
  const socket = rig.raw("tcp");
  const answer = new Promise((resolve) => socket.once("data", (data) => resolve(String(data).slice(0, 12))));
  socket.write(`GET /v1/daemon HTTP/1.0\r\nauthorization: Bearer ${rig.ownerToken}\r\n\r\n`);
  expect(await answer).toBe("HTTP/1.1 403");
});
