import { expect, test } from "vitest";
import { freshDir, rota } from "../../../../test/rig/cli.ts";
import { parseDuration } from "../../../domain/time.ts";

/** What `rota config` says of a setting. */
async function shown(setting: string, env: Readonly<Record<string, string>> = {}): Promise<string | undefined> {
  const { out } = await rota(["config"], { cwd: freshDir(), env });
  const line = out.split("\n").find((each) => each.startsWith(`${setting} `));
  return line?.split(/\s{2,}/)[1];
}

test.each([
  "grace",
  "leaseTtl",
  "heartbeat",
  "patienceWait",
  "sessionTtl",
  "ackTimeout",
  "offerTtl",
  "wakeInterval",
  "wakeCooldown",
  "starvingAge",
])("%s is shown as a span of time", async (setting) => {
  expect(parseDuration((await shown(setting)) ?? "")).toBeDefined();
});

test("a span is shown as it is, even where people would be told a round one", async () => {
  expect(await shown("offerTtl", { ROTA_OFFER_TTL: "1m30s" })).toBe("1m30s");
  expect(await shown("offerTtl", { ROTA_OFFER_TTL: "61500ms" })).toBe("61500ms");
});

test("a map is shown as it can be written", async () => {
  expect(await shown("pools")).toBe("{}");
  expect(await shown("pools", { ROTA_POOLS: '{"a":{"mode":"push"}}' })).toBe('{"a":{"mode":"push"}}');
});

test("a setting that cannot be is refused, with a command that works all the same", async () => {
  const wrong = { cwd: freshDir(), env: { ROTA_WORKERS: "none" } };
  const { code, err } = await rota(["config", "show"], wrong);
  expect({ code, err }).toEqual({ code: 2, err: expect.stringMatching(/^CONFIG_INVALID: .*ROTA_WORKERS/) });
  const [, named = ""] = /\(`rota ([^`]+)`/.exec(err) ?? [];
  expect((await rota(named.split(" "), wrong)).code).toBe(0);
});
