import { describe, expect, test } from "vitest";
import { task } from "../../test/rig/builders.ts";
import { UserError } from "../domain/errors.ts";
import { minutes, seconds } from "../domain/time.ts";
import { EDITABLE, readEdit } from "./edit.ts";

const spec = task("a", { pool: "agents", retry: { attempts: 3 }, timeout: { soft: seconds(5), hard: minutes(9) } });
const refused = (text: string, of = spec): string => {
  try {
    return `not refused: ${JSON.stringify(readEdit(text, of))}`;
  } catch (error) {
    if (error instanceof UserError) return `${error.code}: ${error.message}`;
    throw error;
  }
};

describe("what is changed about a task", () => {
  test("is read as it would be in a plan, and only what is named", () => {
    expect(readEdit("{}", spec)).toEqual({});
    const text = JSON.stringify({ title: "New", priority: "high", requires: ["gpu"], progress: "90s", session: "s1" });
    expect(readEdit(text, spec)).toEqual({
      title: "New",
      priority: "high",
      requires: ["gpu"],
      progress: seconds(90),
      session: "s1",
    });
  });

  test("may be what an agent is asked to do; a command has no prompt", () => {
    const agents = { ...spec, run: { prompt: "Do it." } };
    expect(readEdit('{"prompt":"Do it well."}', agents)).toEqual({ run: { prompt: "Do it well." } });
    expect(refused('{"prompt":"Do it well."}')).toMatch(/^CANNOT_EDIT: Task a runs a command/);
  });

  test("is not the function that a task calls, nor what that takes", () => {
    const calls = { ...spec, run: { call: "fetch" } };
    expect(readEdit('{"priority":"high"}', calls)).toEqual({ priority: "high" });
    for (const change of ['{"run":"true"}', '{"prompt":"Do it."}', '{"requires":[]}']) {
      expect(refused(change, calls)).toMatch(/^CANNOT_EDIT: Task a calls a function/);
    }
  });

  test("keeps what is not named of a try or a time-out", () => {
    const changes = readEdit('{"retry": {"attempts": 5}, "timeout": {"hard": "1m"}}', spec);
    expect(changes.retry).toEqual({ ...spec.retry, attempts: 5 });
    expect(changes.timeout).toEqual({ soft: seconds(5), hard: minutes(1) });
  });

  test("has no holes: what is undefined would be lost on its way to the disk and back", () => {
    const changes = readEdit('{"title": "New", "env": {"A": "1"}, "labels": {"team": "x"}}', spec);
    expect(JSON.parse(JSON.stringify(changes))).toEqual(changes);
    expect(Object.values(changes)).not.toContain(undefined);
  });

  test.each(["needs", "after", "id", "pool", "writes", "reads", "gate", "onFailure"])(
    "cannot be `%s`: that would change the graph, the files it locks, or whose work it is",
    (field) => {
      expect(EDITABLE).not.toContain(field);
      expect(refused(JSON.stringify({ [field]: "x" }))).toMatch(/^CANNOT_EDIT: /);
    },
  );

  test.each([
    "",
    "[]",
    "nothing",
    '{"priority": "soon"}',
    '{"prioriy": "high"}',
    '{"timeout": {"hard": -1}}',
    '{"__proto__": {}}',
  ])("is refused in words when it is %s", (text) => expect(refused(text)).toMatch(/^CANNOT_EDIT: ./));
});
