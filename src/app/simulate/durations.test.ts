import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { task } from "../../../test/rig/builders.ts";
import { freshDir } from "../../../test/rig/cli.ts";
import { NO_HISTORY } from "../../domain/durations/history.ts";
import { UserError } from "../../domain/errors.ts";
import { taskId } from "../../domain/ids.ts";
import { DURATION_MAX, millis, seconds } from "../../domain/time.ts";
import { lastingOf, readDurations } from "./durations.ts";

const SPECS = [task("build"), task("test"), task("ship")];

async function read(text: string | Uint8Array): Promise<Record<string, number>> {
  const file = join(freshDir(), "actual.json");
  writeFileSync(file, text);
  return Object.fromEntries(await readDurations(file, "actual.json", SPECS));
}

/** The error message. */
async function refusal(text: string | Uint8Array): Promise<string> {
  const error = await read(text).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(UserError);
  expect((error as UserError).code).toBe("DURATIONS_INVALID");
  return (error as UserError).message;
}

describe("the file of true durations", () => {
  test("is a map from tasks to milliseconds", async () => {
    expect(await read('{"build": 1200, "ship": 0, "test": 0.5}')).toEqual({ build: 1_200, ship: 0, test: 0.5 });
    expect(await read(`\ufeff{"build": ${DURATION_MAX}}`)).toEqual({ build: DURATION_MAX });
    expect(await read("{}")).toEqual({});
  });

  test.each([
    ["", "actual.json is not JSON"],
    ["build: 12", "actual.json is not JSON"],
    ['{"build": NaN}', "actual.json is not JSON"],
    ["[1200]", "actual.json is not a JSON object"],
    ["null", "actual.json is not a JSON object"],
    ["12", "actual.json is not a JSON object"],
    ['{"build": -1}', "build must be a number of milliseconds, 0 or more, at most a year, not -1"],
    ['{"build": 1e999}', "not Infinity"],
    [`{"build": ${DURATION_MAX + 1}}`, "at most a year"],
    ['{"build": "1200"}', 'not "1200"'],
    ['{"build": null}', "not null"],
    ['{"build": true}', "not true"],
    ['{"build": {"ms": 1}}', 'not {"ms":1}'],
    ['{"biuld": 1}', 'the plan has no task "biuld". Did you mean "build"?'],
    ['{"__proto__": 1}', 'the plan has no task "__proto__"'],
    ['{"constructor": 1}', 'the plan has no task "constructor"'],
  ])("%s is refused", async (text, message) => {
    expect(await refusal(text)).toContain(message);
  });

  test("is told everything that is wrong with it at once, as far as a person reads", async () => {
    const many = Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`x${at}`, 1]));
    const message = await refusal(JSON.stringify({ build: -1, ...many }));
    expect(message.split("\n")).toHaveLength(11);
    expect(message).toMatch(/and 21 more$/);
  });

  test("must be there, and be a file", async () => {
    const dir = freshDir();
    await expect(readDurations(join(dir, "no.json"), "no.json", SPECS)).rejects.toThrow(
      "no.json cannot be read: There is no such file",
    );
    await expect(readDurations(dir, "dir", SPECS)).rejects.toThrow("dir cannot be read: It is a directory");
  });
});

test("a task lasts as long as is known of it, else a second", () => {
  const specs = [
    task("given", { estimate: seconds(5) }),
    task("estimated", { estimate: seconds(5) }),
    task("recorded"),
    task("unknown"),
  ];
  const recorded = { count: 2, meanLog: Math.log(2_000) };
  const history = {
    ...NO_HISTORY,
    durations: new Map([
      ["recorded", recorded],
      ["estimated", recorded],
    ]),
  };
  expect(lastingOf(specs, new Map([[taskId("given"), millis(7)]]), history)).toEqual({
    durations: [7, 5_000, 2_000, 1_000],
    sources: { actual: 1, estimate: 1, history: 1, unknown: 1 },
  });
});
