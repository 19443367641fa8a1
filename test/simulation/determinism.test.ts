/** One seed is one history, byte for byte. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { FAULT_KINDS, FAULTS } from "../../src/simulate/faults/seed/fault-kinds.ts";
import { STORE_KINDS, scenarioOf } from "../../src/simulate/faults/seed/scenario.ts";
import { tryOut } from "../../src/simulate/faults/trial.ts";

test.each(STORE_KINDS)("on %s, the same seed gives the same trace and the same ledger", async (store) => {
  for (let seed = 1; seed <= 25; seed++) {
    const [once, again] = [await tryOut(seed, { store }), await tryOut(seed, { store })];
    expect(again.digest, `seed ${seed}`).toBe(once.digest);
    expect(again).toEqual(once);
  }
});

test("another seed gives another history", async () => {
  const digests = new Set<string>();
  for (let seed = 1; seed <= 20; seed++) digests.add((await tryOut(seed)).digest);
  expect(digests.size).toBe(20);
});

test("every kind of fault is part of many seeds, and missing from many", () => {
  const counts = new Map(FAULT_KINDS.map((kind) => [kind, 0]));
  for (let seed = 1; seed <= 500; seed++) {
    for (const kind of FAULT_KINDS) {
      if (scenarioOf(seed).faults[kind] !== undefined) counts.set(kind, (counts.get(kind) ?? 0) + 1);
    }
  }
  for (const [kind, count] of counts) expect(count, kind).toSatisfy((each: number) => each > 100 && each < 300);
});

test("what is left out of a seed is left out, and the rest of it stays", () => {
  const whole = scenarioOf(7);
  const part = scenarioOf(7, { tasks: 1, plans: 1, sessions: 0, without: ["crash", "fail"] });
  expect(part.plans).toHaveLength(1);
  expect(part.plans[0]?.specs).toEqual(whole.plans[0]?.specs.slice(0, 1));
  expect(part.sessions).toEqual([]);
  expect(part.faults).not.toHaveProperty("crash");
  expect(part.settings).toEqual(whole.settings);
});

test("a trace is kept when it is asked for, and does not change the history", async () => {
  const [quiet, loud] = [await tryOut(3), await tryOut(3, {}, true)];
  expect(quiet.trace).toEqual([]);
  expect(loud.trace.length).toBeGreaterThan(20);
  expect(loud.digest).toBe(quiet.digest);
});

test("the page about it names every kind of fault", () => {
  const page = readFileSync(new URL("../../docs/concepts/proof.md", import.meta.url), "utf8");
  for (const kind of FAULT_KINDS) expect(page).toContain(`| \`${kind}\` | ${FAULTS[kind]} |`);
});
