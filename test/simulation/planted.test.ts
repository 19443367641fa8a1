/** Every planted bug is found, and within its seeds. A bug that is not found would mean that the simulation has become blind. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { PLANTED_BUGS } from "./planted.ts";

const MAIN = fileURLToPath(new URL("planted-main.ts", import.meta.url));
/** Each process looks for several, one after the other; two at a time. */
const SHARE = 9;

interface Found {
  readonly name: string;
  readonly store: string;
  readonly found?: string;
  readonly command?: string;
}

const wordsOf = ({ name, store }: Pick<Found, "name" | "store">): string => `${name}, on ${store}`;

const names = Object.keys(PLANTED_BUGS);
const shares = Array.from({ length: Math.ceil(names.length / SHARE) }, (_, at) =>
  names.slice(at * SHARE, (at + 1) * SHARE),
);

async function seek(...args: readonly string[]): Promise<readonly Found[]> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--disable-warning=ExperimentalWarning", MAIN, ...args],
    { maxBuffer: 16 * 2 ** 20 },
  );
  return stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Found);
}

test("there are at least twenty of them", () => {
  expect(names.length).toBeGreaterThanOrEqual(20);
});

describe.concurrent("planted bugs", { timeout: 900_000 }, () => {
  test.each(shares)("%s and others are found", async (...share) => {
    const found = await seek(...share);
    expect(found.map(wordsOf)).toEqual(
      share.flatMap((name) => PLANTED_BUGS[name]?.stores.map((store) => wordsOf({ name, store }))),
    );
    expect(found.filter((each) => each.found === undefined).map(wordsOf)).toEqual([]);
  });

  test("a failing seed is made smaller, and says how to play it again", async () => {
    const [found] = await seek("--shrink", "one need is enough");
    expect(found?.command).toMatch(/^rota soak --replay \d+ --store memory --without /);
  });
});
