import { describe, expect, test } from "vitest";
import { parsePlan } from "../plan.ts";
import { defaultsShape, planShape, taskShape } from "../shape.ts";
import { PLAN_WORDS, RETRY_WORDS, TASK_WORDS } from "./foreign.ts";

const findingsOf = async (text: string) => {
  const parsed = await parsePlan(new TextEncoder().encode(text), "plan.yaml");
  return parsed.ok ? parsed.value.warnings : parsed.error;
};

const hintsOf = async (text: string): Promise<readonly string[]> => (await findingsOf(text)).map(({ hint }) => hint);

const task = (rest: string): string => `tasks:\n  a:\n    ${rest}\n`;

describe("what is written as elsewhere is answered with what it is called here", () => {
  test.each([
    ["cmd: make", "Write `run: make build`."],
    ["cmds: [make]", "Write `run: |` with a line for each, or make each a task of its own with `needs`."],
    ["depends_on: [b]", "Write `needs: [build]`."],
    ["retries: 3", "Write `retry: { attempts: 3 }`: tries in all, the first included."],
    ["retry: 3", "Write `retry: { attempts: 3 }`: tries in all, the first included."],
    ["model: opus", "The session that claims a task brings its model: give each model a pool, `pool: opus`."],
    ["timeout: 30", "Add the unit: 30s, 30m, or 30ms."],
    ['timeout: "30"', "Add the unit: 30s, 30m, or 30ms."],
    ["timeout-minutes: 30", "Write `timeout: 30m`."],
    ["needs: b, c", 'Write it as a list: ["b", "c"].'],
    ["needs: b c", 'Write it as a list: ["b", "c"].'],
    ["needs: b", 'Write it as a list: ["b"].'],
    ["reads: my file", 'Write it as a list: ["my file"].'],
  ])("%s", async (line, hint) => {
    const start = /^(cmds?|model|depends)/.test(line) ? "" : "run: x\n    ";
    expect(await hintsOf(task(start + line))).toEqual([hint]);
  });

  test("a task that is only a command", async () => {
    expect(await hintsOf("tasks:\n  a: echo hi\n")).toEqual(['Put "run" before it: { run: "echo hi" }.']);
    expect(await hintsOf("tasks:\n  a: [make, it]\n")).toEqual(['Put "run" before it: { run: ["make", "it"] }.']);
    expect(await hintsOf("tasks:\n  a:\n")).toEqual(["Write what it runs: `run: make build`."]);
  });

  test("fields of a task that stand in the plan itself, or under defaults", async () => {
    expect(await hintsOf("jobs: {}\ntimeout: 3m\nrun: x\ntasks: { a: { run: x } }\n")).toEqual([
      "Write `tasks: { build: { run: make } }`.",
      "Put it into a task, or under `defaults` for all of them.",
      "Put it into a task.",
    ]);
    expect(await hintsOf("defaults: { needs: [b] }\ntasks: { a: { run: x } }\n")).toEqual([
      "Put it into the task it is meant for.",
    ]);
  });

  test("a plan of jobs is not told that it lacks tasks, too", async () => {
    expect((await findingsOf("jobs: { a: { run: x } }\n")).map(({ code }) => code)).toEqual(["PLAN_KEY_UNKNOWN"]);
  });
});

describe.each([
  ["a task", TASK_WORDS, taskShape.fields, (line: string) => task(`run: x\n    ${line}`)],
  ["retry", RETRY_WORDS, retryFields(), (line: string) => task(`run: x\n    retry: { ${line} }`)],
  ["a plan", PLAN_WORDS, planShape.fields, (line: string) => `${line}\ntasks: { a: { run: x } }\n`],
])("the words of %s", (_, words, fields, written) => {
  test.each(Object.entries(words))(
    "%s is not a field, and what its answer says works",
    async (word, { hint, field }) => {
      expect(Object.keys(fields)).not.toContain(word);
      if (field !== undefined) expect(Object.keys(fields)).toContain(field);
      const findings = await findingsOf(written(`${word}: 1`));
      expect(findings).toContainEqual(expect.objectContaining({ code: "PLAN_KEY_UNKNOWN", hint }));
      const example = /^Write `([a-z]+): ([^|`]+)`/.exec(hint);
      if (example === null) return;
      const work = { run: "", prompt: "pool: writers\n    " }[example[1] as string];
      const plan =
        work !== undefined ? task(`${work}${example[1]}: ${example[2]}`) : written(`${example[1]}: ${example[2]}`);
      const faults = example[1] === "tasks" ? [] : (await findingsOf(plan)).map(({ code }) => code);
      expect(faults.filter((code) => code !== "PLAN_NEED_UNKNOWN")).toEqual([]);
    },
  );
});

function retryFields(): object {
  const { properties } = defaultsShape.fields.retry.json as { properties: object };
  return properties;
}
