import { describe, expect, test } from "vitest";
import { hashToken, isToken, seededRandom, systemSecrets, tokensFrom } from "./random.ts";

const take = (seed: number, count: number): number[] => {
  const random = seededRandom(seed);
  return Array.from({ length: count }, () => random.next());
};

describe("numbers from a seed", () => {
  test("are the same for ever", () => {
    expect(take(17, 3)).toEqual(take(17, 3));
    expect(take(17, 3)).toMatchInlineSnapshot(`
      [
        0.31230988167226315,
        0.08278826926834881,
        0.2041979650966823,
      ]
    `);
  });
  test("are others from another seed, and each is another", () => {
    expect(take(1, 3)).not.toEqual(take(2, 3));
    expect(new Set(take(0, 10_000)).size).toBeGreaterThan(9_990);
  });
  test("are spread evenly over [0, 1)", () => {
    const numbers = take(5, 20_000);
    expect(Math.min(...numbers)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...numbers)).toBeLessThan(1);
    for (let tenth = 0; tenth < 10; tenth++) {
      const share = numbers.filter((number) => Math.floor(number * 10) === tenth).length;
      expect(Math.abs(share - 2_000)).toBeLessThan(200);
    }
  });
});

describe("secrets", () => {
  test("two makers of them never make the same", () => {
    expect(systemSecrets().token()).not.toBe(systemSecrets().token());
  });
  test("tokens are 256 bits that can stand in a header, and none comes twice, whatever else is made between them", () => {
    const secrets = systemSecrets();
    const tokens = Array.from({ length: 2_000 }, () => {
      secrets.suffix();
      secrets.seed();
      return secrets.token();
    });
    expect(new Set(tokens).size).toBe(2_000);
    for (const token of tokens) expect(token).toMatch(/^[A-Za-z0-9_-]{43}$/);
  });
  test("a seed is a whole number that a run can write down", () => {
    const seeds = Array.from({ length: 100 }, () => systemSecrets().seed());
    expect(seeds.every((seed) => Number.isInteger(seed) && Math.abs(seed) <= 2 ** 31)).toBe(true);
    expect(new Set(seeds).size).toBeGreaterThan(90);
  });
  test("a suffix is short and can stand in a file name", () => {
    expect(systemSecrets().suffix()).toMatch(/^[0-9a-f]{6}$/);
  });
  test("a token is known by its hash alone", () => {
    const known = ["abc", "abd", ""].filter((token) => isToken(token, hashToken("abc")));
    expect(known).toEqual(["abc"]);
  });
  test("a token of a lease is the same for ever: those that are out stay good", () => {
    expect(tokensFrom("secret")("run-1", "build", 3)).toBe("xbBAMCog1KwXnQqJYkfGI_MA2TGmsnrlF8qqYrpmtxk");
    expect(tokensFrom("secret")("run-1", "build", 3, "mark")).toBe("masvl986fXNQ7Qq3Bi8xUDB0zCIfFW-4VAw88GKHG4g");
  });
  test("of a token its SHA-256 is kept", () => {
    expect(hashToken("abc")).toBe("ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0");
  });
});
