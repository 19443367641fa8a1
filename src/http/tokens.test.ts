import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ManualClock } from "../../test/rig/clock.ts";
import { systemSecrets } from "../effects/random.ts";
import { openTokens, type TokenKeeper } from "./tokens.ts";

const compared = vi.spyOn(process.getBuiltinModule("node:crypto"), "timingSafeEqual");

const by = { by: "mo" };
let state: string;
let clock: ManualClock;
/** The admission of a token with this name and scope. */
const known = (id: string, scope: "read" | "admin") => ({
  by: `ci (${id})`,
  scope,
  authority: { isAdmin: scope === "admin", token: id },
});
const open = (): TokenKeeper => openTokens({ state, clock, secrets: systemSecrets() });
const mode = (name: string): string => (statSync(join(state, name)).mode & 0o777).toString(8);

beforeEach(() => {
  state = mkdtempSync(join(tmpdir(), "rota-tokens-"));
  clock = new ManualClock();
  compared.mockClear();
});
afterEach(() => rmSync(state, { recursive: true }));

describe("a token that was issued", () => {
  test.each(["read", "admin"] as const)(
    "is known by its scope, name and id, and again after a restart: %s",
    async (scope) => {
      const { token, id } = await open().issue({ name: "ci", scope }, by);
      expect(token).toMatch(new RegExp(`^rota_${id}_[\\w-]{43}$`));
      expect(open().find(token, clock.now())).toEqual(known(id, scope));
    },
  );

  test.each(["owner", "Owner", " owner ", "«OWNER»", "ｏｗｎｅｒ", "admin", "local", "scheduler"])(
    "is not called as the ledger calls others: %s",
    async (name) => {
      const refused = {
        code: "REQUEST_INVALID",
        message: `"${name}" is no name for a token: the ledger calls others so`,
      };
      await expect(open().issue({ name, scope: "read" }, by)).rejects.toMatchObject(refused);
      expect(await open().list()).toEqual([]);
    },
  );

  test.each(["owner of the laptop", "ownership", "local-ci"])(
    "may have a name that only begins so: %s",
    async (name) => {
      expect((await open().issue({ name, scope: "read" }, by)).name).toBe(name);
    },
  );

  test("is kept as a hash, in a file that is its owner's alone", async () => {
    const tokens = open();
    const { token } = await tokens.issue({ name: "ci", scope: "admin" }, by);
    expect(mode("tokens.json")).toBe("600");
    expect(readFileSync(join(state, "tokens.json"), "utf8")).not.toContain(token.slice(-43));
    expect(JSON.stringify(await tokens.list())).not.toContain(token.slice(-43));
    expect(readdirSync(state)).toEqual(["tokens.json"]);
  });

  test("expires", async () => {
    const tokens = open();
    const { id, token, expires_at } = await tokens.issue({ name: "ci", scope: "read", expiresMs: 1_000 }, by);
    expect(expires_at).toBe(new Date(clock.now() + 1_000).toISOString());
    await clock.advance(999);
    expect(tokens.find(token, clock.now())).toEqual(known(id, "read"));
    await clock.advance(1);
    expect(tokens.find(token, clock.now())).toBe("expired");
  });

  test("is refused as soon as it is revoked, and after a restart", async () => {
    const tokens = open();
    const { token, id } = await tokens.issue({ name: "ci", scope: "read" }, by);
    await tokens.revoke(id, by);
    await tokens.revoke(id, by);
    expect([tokens.find(token, clock.now()), open().find(token, clock.now())]).toEqual(["revoked", "revoked"]);
    await expect(tokens.revoke("none", by)).rejects.toMatchObject({ code: "TOKEN_UNKNOWN" });
  });

  test("is revoked by its id, and a caller that gives its name is told the id", async () => {
    const tokens = open();
    const { id } = await tokens.issue({ name: "ann", scope: "work" }, by);
    await expect(tokens.revoke("ann", by)).rejects.toMatchObject({
      code: "TOKEN_UNKNOWN",
      message: `There is no token with the id "ann": a token is revoked by its id, and "ann" is the name of ${id}`,
    });
  });

  test("that could not be written down was not issued", async () => {
    const tokens = open();
    rmSync(state, { recursive: true });
    await expect(tokens.issue({ name: "ci", scope: "read" }, by)).rejects.toMatchObject({ code: "STATE_UNUSABLE" });
    expect(await tokens.list()).toEqual([]);
    state = mkdtempSync(join(tmpdir(), "rota-tokens-"));
  });

  test("is one of so many, and those that are refused are forgotten at last", async () => {
    const entry = (no: number) => ({ id: `t${no}`, name: "n", scope: "read", hash: "h", createdAt: 1 });
    const live = Array.from({ length: 999 }, (_, no) => entry(no));
    const dead = Array.from({ length: 250 }, (_, no) => ({ ...entry(1_000 + no), expiresAt: 2 }));
    writeFileSync(join(state, "tokens.json"), JSON.stringify({ tokens: [...dead, ...live] }));
    const tokens = open();
    await tokens.issue({ name: "last", scope: "read" }, by);
    expect((await tokens.list()).length).toBe(1_200);
    await expect(tokens.issue({ name: "more", scope: "read" }, by)).rejects.toMatchObject({ code: "TOKENS_MANY" });
    await tokens.revoke("t7", by);
    expect((await tokens.list()).length).toBe(1_199);
    expect((await tokens.issue({ name: "more", scope: "read" }, by)).name).toBe("more");
  });
});

describe("comparing", () => {
  test("takes as long for whatever is shown: one comparison of two hashes, known or not", async () => {
    const tokens = open();
    tokens.ownerFile();
    const { token, id } = await tokens.issue({ name: "ci", scope: "read" }, by);
    const owner = readFileSync(join(state, "token"), "utf8").trim();
    const shown = [
      token,
      owner,
      `rota_${id}_x`,
      "rota_owner_x",
      "rota_nobody_x",
      "x",
      "",
      "_",
      `${token}x`,
      "rota_constructor_x",
    ];
    const found = shown.map((each) => tokens.find(each, clock.now()));
    expect(found.slice(0, 2)).toEqual([
      known(id, "read"),
      { by: "owner", scope: "admin", authority: { isAdmin: true } },
    ]);
    expect(new Set(found.slice(2))).toEqual(new Set(["wrong"]));
    expect(compared.mock.calls.map(([a]) => a.byteLength)).toEqual(shown.map(() => 32));
  });

  test("knows no owner before there is an owner's token", () => {
    expect(open().find("", clock.now())).toBe("wrong");
    expect(open().find("rota_owner_", clock.now())).toBe("wrong");
  });
});

describe("the owner's token", () => {
  test("is made once, and is the owner's alone to read", () => {
    const file = open().ownerFile();
    const token = readFileSync(file, "utf8");
    expect([file, mode("token")]).toEqual([join(state, "token"), "600"]);
    open().ownerFile();
    expect(readFileSync(file, "utf8")).toBe(token);
  });

  test("is not used when others could read it", () => {
    const file = open().ownerFile();
    chmodSync(file, 0o640);
    expect(() => open().ownerFile()).toThrow(expect.objectContaining({ code: "TOKEN_EXPOSED" }));
  });

  test("is not used when it is not one of ours", () => {
    writeFileSync(join(state, "token"), "1234", { mode: 0o600 });
    expect(() => open().ownerFile()).toThrow(expect.objectContaining({ code: "STATE_UNUSABLE" }));
  });
});

test.each(["", "{}", `{"tokens":[{"id":"a"}]}`, "not json"])("a damaged list is said to be so: %j", (text) => {
  writeFileSync(join(state, "tokens.json"), text);
  expect(open).toThrow(expect.objectContaining({ code: "STATE_UNUSABLE" }));
});
