import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { freshDir } from "../../../test/rig/cli.ts";
import { UserError } from "../../domain/errors.ts";
import { coreCount } from "../../effects/machine.ts";
import { type ConfigSources, describeOrigin, loadConfig, variableOf } from "./config.ts";
import { configJsonSchema, SETTING_NAMES } from "./settings.ts";

/** Files by name, in a directory of their own. */
function folder(files: Readonly<Record<string, string>> = {}): string {
  const dir = freshDir();
  for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text);
  return dir;
}

const load = (cwd: string, rest: Partial<ConfigSources> = {}) => loadConfig({ cwd, env: {}, flags: {}, ...rest });

async function faults(cwd: string, rest: Partial<ConfigSources> = {}): Promise<string[]> {
  try {
    await load(cwd, rest);
  } catch (error) {
    if (error instanceof UserError && error.code === "CONFIG_INVALID") return error.message.split("\n");
    throw error;
  }
  return [];
}

describe("a value comes from", () => {
  test("the default, when nothing is set", async () => {
    const { values, origins } = await load(folder());
    expect(values).toEqual({
      workers: coreCount(),
      durability: "full",
      grace: 5_000,
      leaseTtl: 30_000,
      heartbeat: 5_000,
      orphans: "keep",
      priorities: "shares",
      policy: "auto",
      patienceDispatches: 100,
      patienceWait: 60_000,
      pressure: "off",
      sessionTtl: 300_000,
      ackTimeout: 10_000,
      offerTtl: 30_000,
      wakeInterval: 15_000,
      wakeCooldown: 60_000,
      pollInterval: 500,
      starvingAge: 120_000,
      stuckAfter: 300_000,
      sweepLimit: 100,
      sweepReason: "it was not heard of any more",
      wakeReason: "a task waits that this session can claim",
      ladder: [2, 4, 6, 10],
      pools: {},
      pass: [],
      logMaxBytes: 4 * 2 ** 30,
    });
    expect(new Set(Object.values(origins).map(describeOrigin))).toEqual(new Set(["default"]));
  });

  test("the file, which says where", async () => {
    const dir = folder({ "rota.config.yaml": "# ours\ngrace: 1m30s\npass:\n  - SSH_AUTH_SOCK\n  - AWS_*\n" });
    const { values, origins } = await load(dir);
    expect(values).toMatchObject({ grace: 90_000, pass: ["SSH_AUTH_SOCK", "AWS_*"] });
    expect(describeOrigin(origins.grace)).toBe("rota.config.yaml:2:1");
    expect(describeOrigin(origins.pass)).toBe("rota.config.yaml:3:1");
  });

  test("a file in JSON just as well", async () => {
    const dir = folder({ "rota.config.json": '{\n  "logMaxBytes": "10MB",\n  "workers": 3\n}' });
    const { values, origins } = await load(dir);
    expect(values).toMatchObject({ logMaxBytes: 10_000_000, workers: 3 });
    expect(describeOrigin(origins.workers)).toBe("rota.config.json:3:3");
  });

  test("a variable before the file, and a flag before both", async () => {
    const dir = folder({ "rota.config.yaml": "workers: 2\ngrace: 2s\ndurability: normal\n" });
    const env = { ROTA_WORKERS: "3", ROTA_GRACE: "3s" };
    const { values, origins } = await load(dir, { env, flags: { workers: 4 } });
    expect(values).toMatchObject({ workers: 4, grace: 3_000, durability: "normal" });
    expect(describeOrigin(origins.workers)).toBe("--workers");
    expect(describeOrigin(origins.grace)).toBe("ROTA_GRACE");
    expect(describeOrigin(origins.durability)).toBe("rota.config.yaml:3:1");
  });

  test("a variable that is a list of words", async () => {
    expect((await load(folder(), { env: { ROTA_PASS: "A, B_* C" } })).values.pass).toEqual(["A", "B_*", "C"]);
  });

  test("a variable only when there is something in it", async () => {
    expect((await load(folder(), { env: { ROTA_WORKERS: "" } })).values.workers).toBe(coreCount());
  });
});

describe("the file is looked for", () => {
  test("in the current directory and above it", async () => {
    const dir = folder({ "rota.config.yaml": "workers: 7\n" });
    mkdirSync(join(dir, "a/b"), { recursive: true });
    const { values, origins } = await load(join(dir, "a/b"));
    expect(values.workers).toBe(7);
    expect(describeOrigin(origins.workers)).toBe(`${join(dir, "rota.config.yaml")}:1:1`);
  });

  test("beside the plan first", async () => {
    const dir = folder({ "rota.config.yaml": "workers: 7\n" });
    const planDir = folder({ "rota.config.yaml": "workers: 8\n" });
    expect((await load(dir, { planDir })).values.workers).toBe(8);
    expect((await load(dir, { planDir: folder() })).values.workers).toBe(7);
  });

  test("once: two in one place are one too many", async () => {
    const dir = folder({ "rota.config.yaml": "workers: 7\n", "rota.config.json": "{}" });
    expect(await faults(dir)).toEqual([`${dir} has both rota.config.yaml and rota.config.json`]);
  });

  test("and may say nothing", async () => {
    for (const text of ["", "# nothing yet\n", "{}\n", "\ufeff# nothing\n"]) {
      expect(await faults(folder({ "rota.config.yaml": text }))).toEqual([]);
    }
  });
});

describe("what is wrong", () => {
  test("is said all at once, each with its place", async () => {
    const text = "workers: 0\ngrce: 5s\nheartbeat: soon\npass: [A, 'b c']\norphans: kep\nlogMaxBytes: -1\n";
    expect(await faults(folder({ "rota.config.yaml": text }), { env: { ROTA_DURABILITY: "ful" } })).toEqual([
      "rota.config.yaml:1:10: workers must be a whole number from 1 to 4096, not 0",
      'rota.config.yaml:2:1: "grce" is not a field of the configuration. Did you mean "grace"?',
      'rota.config.yaml:3:12: heartbeat must be a duration of at least 20ms such as 250ms, 90s or 1h30m, not "soon". ' +
        "Write a number and a unit, such as 250ms, 90s, 5m or 1h30m; at most 366d.",
      'rota.config.yaml:4:11: pass[1] must be the name of an environment variable, or the start of one with a *, not "b c"',
      'rota.config.yaml:5:10: orphans must be one of keep, stop, not "kep". Did you mean "keep"?',
      "rota.config.yaml:6:14: logMaxBytes must be a whole number of at least 1, not -1",
      'ROTA_DURABILITY must be one of full, normal, not "ful". Did you mean "full"?',
    ]);
  });

  test.each([
    ["workers: [1", /^rota\.config\.yaml:\d+:\d+: /],
    ["workers: 1\nworkers: 2\n", /^rota\.config\.yaml:2:1: "workers" is written twice/],
    ["- workers\n", /^rota\.config\.yaml:1:1: the configuration must be/],
    ["__proto__: { workers: 1 }\n", /^rota\.config\.yaml:1:1: "__proto__" cannot be used as a key/],
  ])("%j", async (text, message) => {
    expect((await faults(folder({ "rota.config.yaml": text })))[0]).toMatch(message);
  });

  test.each(["x", "1.5", "0", "5000", "0x10", " 3"])("ROTA_WORKERS=%j", async (raw) => {
    expect(await faults(folder(), { env: { ROTA_WORKERS: raw } })).toHaveLength(1);
  });

  test("includes a heartbeat that could not keep a lease alive", async () => {
    expect(await faults(folder(), { env: { ROTA_LEASE_TTL: "8s" } })).toEqual([
      "ROTA_LEASE_TTL: heartbeat (5s) must be at most half of leaseTtl (8s)",
    ]);
    expect(await faults(folder(), { env: { ROTA_LEASE_TTL: "8s", ROTA_HEARTBEAT: "4s" } })).toEqual([]);
  });
});

test("every setting has a sentence, and a variable of its own", () => {
  const { properties } = configJsonSchema() as unknown as { properties: Record<string, { description?: string }> };
  expect(Object.keys(properties)).toEqual(SETTING_NAMES);
  for (const name of SETTING_NAMES) expect(properties[name]?.description).toMatch(/\.$/);
  expect(SETTING_NAMES.map(variableOf)).toContain("ROTA_LOG_MAX_BYTES");
  expect(new Set(SETTING_NAMES.map(variableOf)).size).toBe(SETTING_NAMES.length);
});
