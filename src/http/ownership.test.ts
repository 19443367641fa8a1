/**
 * Which token a session belongs to: every route for workers, with every kind of caller, on what belongs to another token. The routes come
 * from the table, and the daemon's own service answers, so no route can be forgotten.
 */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { describe, expect, onTestFinished, test } from "vitest";
import { HttpRig, type Received } from "../../test/rig/http.ts";
import { mustOpenLines } from "../../test/rig/lines.ts";
import { CALLER, openServerContext, type ServerContext } from "../../test/rig/server-context.ts";
import { mcpMount } from "../mcp/mount.ts";
import { TOOLS } from "../mcp/tools.ts";
import type { Grant } from "../wire/answers.ts";
import type { Route } from "../wire/route.ts";
import { ROUTES, type RouteName } from "../wire/routes.ts";
import type { Scope } from "../wire/scope.ts";

const POOL = "agents";
const PLAN = {
  text: JSON.stringify({
    tasks: Object.fromEntries(["a", "b"].map((id) => [id, { pool: POOL, prompt: `Do ${id}.` }])),
  }),
  file: "/plan.json",
  directory: "/",
};

interface Token {
  readonly id: string;
  readonly token: string;
}

interface House extends AsyncDisposable {
  readonly context: ServerContext;
  readonly rig: HttpRig;
  /** Runs the daemon until the promise settles. */
  readonly during: <T>(promise: Promise<T>) => Promise<T>;
  readonly issue: (name: string, scope?: Scope) => Promise<Token>;
  readonly ask: (by: Token | undefined, name: RouteName, params?: object, body?: object) => Promise<Answer>;
}

interface Answer {
  readonly status: number;
  readonly code: string | undefined;
  readonly body: Readonly<Record<string, unknown>>;
}

const answerOf = ({ status, body }: Pick<Received, "status" | "body">): Answer => {
  const read = body === "" ? {} : (JSON.parse(body) as Answer["body"]);
  return { status, body: read, code: (read["error"] as { code?: string } | undefined)?.code };
};

const pathOf = (name: RouteName, params: object): string =>
  ROUTES[name].path.replace(/\{(\w+)\}/g, (_, param: string) => encodeURIComponent(params[param as keyof object]));

/** A daemon with two tasks for agents, behind its real server. */
async function house(): Promise<House> {
  const context = await openServerContext();
  const rig = new HttpRig();
  let ids = 0;
  const { service } = context;
  const { clock } = context.rig;
  const readPlan = () => Promise.reject(new Error("unused"));
  const mcp = mcpMount({ service, clock, version: "1", newId: () => `id-${++ids}`, readPlan });
  await rig.start(service, { mounts: [mcp] });
  await context.answer(service.submit(PLAN, CALLER));
  const during: House["during"] = async (promise) => {
    let over = false;
    const end = (): void => {
      over = true;
    };
    promise.then(end, end);
    while (!over) await clock.advance(0);
    return await promise;
  };
  const ask: House["ask"] = async (by, name, params = {}, body = {}) => {
    const { method } = ROUTES[name];
    const over = by === undefined ? "socket" : "tcp";
    const sent = { method, path: pathOf(name, params), over, token: by?.token } as const;
    return answerOf(await during(rig.send({ ...sent, ...(method === "POST" && { body: JSON.stringify(body) }) })));
  };
  const issue: House["issue"] = async (name, scope = "work") =>
    (await ask(undefined, "issueToken", {}, { name, scope })).body as unknown as Token;
  const close = async (): Promise<void> => {
    await during(mcp.close());
    await rig[Symbol.asyncDispose]();
  };
  return { context, rig, during, issue, ask, [Symbol.asyncDispose]: close };
}

interface Scene extends House {
  readonly ada: Token;
  readonly eve: Token;
  /** The grant of Ada's session, claimed under the key `k`. */
  readonly grant: Grant;
}

/** Ada's session holds a task; Eve has a token of the same scope, and knows everything about it. */
async function scene(): Promise<Scene> {
  const made = await house();
  const [ada, eve] = [await made.issue("ada"), await made.issue("eve")];
  await made.ask(ada, "join", {}, { session: "s", agent: POOL });
  const { body } = await made.ask(ada, "claim", {}, { session: "s", key: "k" });
  return { ...made, ada, eve, grant: body as unknown as Grant };
}

const leaseOf = ({ run, task, fence, token }: Grant) => ({ run, task, fence, token });

/** A request to each route about what is Ada's, and the code of the refusal for a stranger. */
const OTHERS: Partial<Record<RouteName, readonly [code: string, body: (grant: Grant) => object]>> = {
  join: ["FORBIDDEN", () => ({ session: "s", agent: POOL })],
  beat: ["FORBIDDEN", () => ({ state: "busy" })],
  leave: ["FORBIDDEN", () => ({})],
  wake: ["FORBIDDEN", () => ({ waitMs: 0 })],
  wakes: ["FORBIDDEN", () => ({})],
  assignment: ["FORBIDDEN", () => ({ waitMs: 0 })],
  claim: ["FORBIDDEN", () => ({ session: "s", key: "k" })],
  start: ["TOKEN_WRONG", leaseOf],
  heartbeat: ["TOKEN_WRONG", leaseOf],
  progress: ["TOKEN_WRONG", (grant) => ({ ...leaseOf(grant), note: "mine" })],
  complete: ["TOKEN_WRONG", leaseOf],
  fail: ["TOKEN_WRONG", leaseOf],
  release: ["TOKEN_WRONG", leaseOf],
};
const others = Object.entries(OTHERS) as [RouteName, NonNullable<(typeof OTHERS)[RouteName]>][];

test("every route for workers is asked about here", () => {
  const workers = (Object.entries(ROUTES) as [RouteName, Route][]).filter(([, { scope }]) => scope === "work");
  expect(workers.map(([name]) => name).sort()).toEqual(others.map(([name]) => name).sort());
});

describe("what is another token's", () => {
  const told = async ({ context }: House): Promise<object> => ({
    events: await context.rig.store.events({}),
    sessions: structuredClone(await context.rig.store.sessions()),
    seen: [...context.rig.engine.world.sessions.values()].map((session) => context.rig.engine.api.seenAt(session)),
  });

  test("is neither given nor touched, on any route", async () => {
    await using made = await scene();
    const { eve, grant, ask, context } = made;
    await context.rig.clock.advance(1_000);
    const before = await told(made);
    for (const [name, [code, body]] of others) {
      const { status, ...answer } = await ask(eve, name, { session: "s" }, body(grant));
      expect([name, status, answer.code]).toEqual([name, 403, code]);
      expect(JSON.stringify(answer)).not.toContain(grant.token);
      expect(JSON.stringify(answer)).not.toContain("ada");
    }
    expect(await told(made)).toEqual(before);
  });

  test("is neither given nor touched on a line connection, whatever the caller says it is called", async () => {
    await using made = await scene();
    const { eve, grant, rig, during } = made;
    const before = await told(made);
    const lines = await during(mustOpenLines(rig, { over: "tcp", token: eve.token }));
    for (const [id, [name, [code, body]]] of others.entries()) {
      const line = { id, method: ROUTES[name].method, path: pathOf(name, { session: "s" }), by: "ada" };
      const post = ROUTES[name].method === "POST" ? { body: body(grant) } : {};
      const answer = await during(lines.ask({ ...line, ...post }));
      // A line connection has no streams.
      const refused = name === "wakes" ? [name, 400] : [name, 403, code];
      const error = (answer.body as { error: { code: string } }).error.code;
      expect([name, answer.status, ...(name === "wakes" ? [] : [error])]).toEqual(refused);
    }
    expect(await told(made)).toEqual(before);
  });

  test.each(["ada", "an admin", "the owner's token", "the owner's socket"] as const)(
    "is in reach of %s",
    async (who) => {
      for (const [name, [, body]] of others) {
        await using made = await scene();
        const { ada, grant, ask, issue, rig } = made;
        // A stream does not end by itself.
        if (name === "wakes") continue;
        const callers = {
          ada: () => ada,
          "an admin": () => issue("root", "admin"),
          "the owner's token": () => ({ id: "", token: rig.ownerToken }),
          "the owner's socket": () => undefined,
        };
        const { status } = await ask(await callers[who](), name, { session: "s" }, body(grant));
        expect([name, [200, 204].includes(status)]).toEqual([name, true]);
      }
    },
  );

  test("is not in reach of a later token of the same name", async () => {
    await using made = await scene();
    const { ada, grant, ask, issue } = made;
    await ask(undefined, "revokeToken", { token: ada.id });
    const again = await issue("ada");
    expect(await ask(ada, "beat", { session: "s" })).toMatchObject({ status: 401 });
    expect(await ask(again, "beat", { session: "s" })).toMatchObject({ status: 403, code: "FORBIDDEN" });
    expect(await ask(again, "complete", {}, leaseOf(grant))).toMatchObject({ code: "TOKEN_WRONG" });
    expect(await ask(await issue("root", "admin"), "complete", {}, leaseOf(grant))).toMatchObject({ status: 200 });
  });

  test("stays its token's when an admin joins it again", async () => {
    await using made = await scene();
    const { ada, eve, ask, issue } = made;
    await ask(await issue("root", "admin"), "join", {}, { session: "s", agent: POOL, capabilities: ["rust"] });
    expect(await ask(ada, "beat", { session: "s" })).toMatchObject({ status: 200 });
    expect(await ask(eve, "beat", { session: "s" })).toMatchObject({ status: 403 });
  });

  test("stays its token's when another scheduler takes over", async () => {
    await using made = await scene();
    const { context, eve, ada, grant } = made;
    await context.rig.resume(1 as never);
    const { api } = context.rig.engine;
    const as = ({ id }: Token) => api.as({ by: "x", authority: { isAdmin: false, token: id } });
    const lease = { ...leaseOf(grant), run: grant.run as never, task: grant.task as never };
    expect(() => as(eve).attend("s")).toThrow(expect.objectContaining({ code: "FORBIDDEN" }));
    await expect(as(eve).report(lease, { kind: "heartbeat" })).rejects.toMatchObject({ code: "TOKEN_WRONG" });
    as(ada).attend("s")();
    expect(await context.rig.promised(as(ada).report(lease, { kind: "heartbeat" }))).toMatchObject({ repeated: false });
  });

  test("cannot be told from what is made up: a lease of another has the answer that a wrong token has", async () => {
    await using made = await scene();
    const { eve, grant, ask } = made;
    const foreign = await ask(eve, "complete", {}, leaseOf(grant));
    const wrong = await ask(eve, "complete", {}, { ...leaseOf(grant), token: "made-up" });
    const forged = await ask(
      eve,
      "complete",
      {},
      {
        ...leaseOf(grant),
        token: grant.token.replace(/\.\w+\./, `.${eve.id}.`),
      },
    );
    expect([wrong, forged]).toEqual([foreign, foreign]);
  });
});

describe("a key", () => {
  test("is its session's own: the same one of another session gives another grant", async () => {
    await using made = await scene();
    const { eve, grant, ask } = made;
    await ask(eve, "join", {}, { session: "e", agent: POOL });
    const { body } = await ask(eve, "claim", {}, { session: "e", key: "k" });
    expect([grant["task"], body["task"]]).toEqual(["a", "b"]);
  });

  test("says nothing to another token that comes later under the same id", async () => {
    await using made = await scene();
    const { ada, eve, grant, ask } = made;
    await ask(ada, "complete", {}, leaseOf(grant));
    await ask(ada, "leave", { session: "s" });
    expect(await ask(eve, "join", {}, { session: "s", agent: POOL })).toMatchObject({ status: 200 });
    expect(await ask(eve, "claim", {}, { session: "s", key: "k" })).toMatchObject({ body: { task: "b" } });
  });
});

describe("the id of a session that has left", () => {
  test("is not free for another token while something is still held under it", async () => {
    await using made = await scene();
    const { ada, eve, grant, ask, issue } = made;
    await ask(ada, "leave", { session: "s" });
    const join = { session: "s", agent: POOL };
    expect(await ask(eve, "join", {}, join)).toMatchObject({ status: 403, code: "FORBIDDEN" });
    expect(await ask(ada, "heartbeat", {}, leaseOf(grant))).toMatchObject({ status: 200 });
    expect(await ask(ada, "join", {}, join)).toMatchObject({ status: 200 });
    expect(await ask(await issue("root", "admin"), "release", {}, leaseOf(grant))).toMatchObject({ status: 200 });
    await ask(ada, "leave", { session: "s" });
    expect(await ask(eve, "join", {}, join)).toMatchObject({ status: 200 });
  });
});

test("the ledger says who called: a token by its name and id, the owner as the owner says", async () => {
  await using made = await scene();
  const { ada, grant, ask, issue } = made;
  const root = await issue("root", "admin");
  await ask(ada, "progress", {}, { ...leaseOf(grant), note: "half" });
  await ask(root, "complete", {}, leaseOf(grant));
  await ask(ada, "beat", { session: "s" }, { state: "busy" });
  await ask(undefined, "leave", { session: "s" });
  await ask(undefined, "drain", {}, { waitMs: 0 });
  const events = (await ask(ada, "events")).body as unknown as readonly { kind: string; by?: string }[];
  const said = events.filter(({ kind }) => kind !== "waiting").map(({ kind, by }) => `${kind} ${by}`);
  expect(said).toEqual([
    "run_submitted mo",
    `session_joined ada (${ada.id})`,
    `claimed ada (${ada.id})`,
    `noted ada (${ada.id})`,
    `started ada (${ada.id})`,
    `succeeded root (${root.id})`,
    `session_changed ada (${ada.id})`,
    "session_left owner",
    "paused owner",
    "drained owner",
  ]);
});

describe("over MCP", () => {
  type Result = { readonly isError?: boolean; readonly content: readonly { readonly text: string }[] };
  const agent = async ({ rig, during }: House, { token }: Token) => {
    const client = new Client({ name: "official", version: "2" }, { versionNegotiation: { mode: "auto" } });
    const headers = { authorization: `Bearer ${token}`, "rota-pool": POOL, "rota-agent": POOL };
    const url = new URL("/mcp", rig.server.url);
    await during(client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } })));
    onTestFinished(() => client.close());
    return async (name: string, args: Readonly<Record<string, unknown>>): Promise<string> => {
      const { isError, content } = (await during(client.callTool({ name, arguments: args }))) as Result;
      return `${isError === true ? "refused" : "done"}: ${content[0]?.text}`;
    };
  };

  /** How each tool that takes a session, a key or a lease is called with those of Ada. */
  const TAKEN: Readonly<Record<string, readonly [code: string, args: (grant: Grant) => object]>> = {
    claim_next: ["FORBIDDEN", () => ({ session: "s", key: "k", waitMs: 0 })],
    heartbeat: ["TOKEN_WRONG", leaseOf],
    progress: ["TOKEN_WRONG", (grant) => ({ ...leaseOf(grant), note: "mine" })],
    complete: ["TOKEN_WRONG", leaseOf],
    fail: ["TOKEN_WRONG", leaseOf],
    release: ["TOKEN_WRONG", leaseOf],
  };

  test("every tool that takes a session or a lease is asked about here", () => {
    const takes = ({ input }: (typeof TOOLS)[number]): boolean =>
      ["session", "fence"].some((name) => Object.hasOwn(input.fields, name));
    expect(TOOLS.filter(takes).map(({ name }) => name)).toEqual(Object.keys(TAKEN));
  });

  test("another token's session, key and lease are of no use either", async () => {
    await using made = await scene();
    const { eve, ada, grant } = made;
    const eves = await agent(made, eve);
    for (const [name, [code, args]] of Object.entries(TAKEN))
      expect([name, await eves(name, { ...args(grant) })]).toEqual([name, expect.stringMatching(`^refused: ${code}`)]);
    expect(await (await agent(made, ada))("complete", leaseOf(grant))).toMatch(/^done/);
  });

  test("the session that a connection joins is its token's", async () => {
    await using made = await house();
    const [ada, eve] = [await made.issue("ada"), await made.issue("eve")];
    expect(await (await agent(made, ada))("claim_next", { waitMs: 0 })).toMatch(/^done/);
    const [joined] = await made.context.rig.store.sessions();
    expect(joined?.profile.owner).toBe(ada.id);
    const session = { session: joined?.profile.id };
    expect(await made.ask(eve, "beat", session)).toMatchObject({ status: 403 });
    expect(await made.ask(ada, "beat", session)).toMatchObject({ status: 200 });
  });
});
