import { expect, test } from "vitest";
import { UserError } from "../../domain/errors.ts";
import { readChanges, readSettings } from "./changes.ts";

test("values are what they would be in a plan", () => {
  expect(
    readSettings([
      "priority=high",
      "timeout=30m",
      "retry.attempts=3",
      "retry.backoff=1s",
      "requires=[typescript, review]",
      "labels={team: core}",
      "title=a = b: c",
      'run="echo 1"',
      "resources.claude=2",
      "estimate=",
    ]),
  ).toEqual({
    priority: "high",
    timeout: "30m",
    retry: { attempts: 3, backoff: "1s" },
    requires: ["typescript", "review"],
    labels: { team: "core" },
    title: "a = b: c",
    run: "echo 1",
    resources: { claude: 2 },
    estimate: "",
  });
});

test.each(["priority", "=high", "a.b.c=1", ".a=1", "a.=1", "__proto__=1", "a.__proto__=1", "x y=1", "requires=[a"])(
  "%j is refused with the form it should have",
  (setting) => {
    expect(() => readSettings([setting])).toThrow(UserError);
  },
);

test("all at once is a JSON object", () => {
  expect(readChanges('{"priority":"low"}')).toEqual({ priority: "low" });
  for (const text of ["", "[]", "null", "3", "{priority: low}"]) expect(() => readChanges(text)).toThrow(UserError);
});
