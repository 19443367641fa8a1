// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are templates of plans, and no template strings.
import { describe, expect, it } from "vitest";
import { filled, placesIn, resultAt } from "./template.ts";

const variables = (template: string) => placesIn(template).map(({ variable }) => variable);

describe("a template", () => {
  it("names tasks and what of them", () => {
    expect(variables("Sum up ${tasks.api.summary} and ${tasks.api.v2.result.files.0x}")).toEqual([
      { task: "api", what: "summary", path: [] },
      undefined,
    ]);
    expect(variables("${tasks.api.v2.result.files} ${ tasks.api.result }")).toEqual([
      { task: "api.v2", what: "result", path: ["files"] },
      { task: "api", what: "result", path: [] },
    ]);
  });

  it("knows a place that names nothing, and where it stands", () => {
    expect(placesIn("echo ${HOME} and ${tasks.api}")).toEqual([
      { words: "${HOME}", at: 5, variable: undefined },
      { words: "${tasks.api}", at: 17, variable: undefined },
    ]);
  });

  it("leaves shell variables without braces, and what is written with two dollars", () => {
    expect(placesIn("$HOME $${HOME}")).toEqual([]);
    expect(filled("$HOME $${HOME}", () => undefined)).toEqual({ text: "$HOME ${HOME}", unknown: [] });
  });

  it("is filled once: what is put in is not read again", () => {
    const { text } = filled("say ${tasks.a.summary}", () => "${tasks.b.summary}");
    expect(text).toBe("say ${tasks.b.summary}");
  });

  it("says what it does not know", () => {
    expect(filled("${tasks.a.summary} ${X}", () => undefined)).toEqual({
      text: "${tasks.a.summary} ${X}",
      unknown: ["${tasks.a.summary}", "${X}"],
    });
  });
});

describe("a way into a result", () => {
  it("ends at text, or at JSON", () => {
    expect(resultAt({ files: ["a", "b"], n: { name: "x" } }, ["files"])).toBe('["a","b"]');
    expect(resultAt({ n: { name: "x" } }, ["n", "name"])).toBe("x");
    expect(resultAt(7, [])).toBe("7");
  });

  it("knows nothing of what is inherited or absent", () => {
    expect(resultAt({}, ["constructor"])).toBeUndefined();
    expect(resultAt({ a: null }, ["a", "b"])).toBeUndefined();
    expect(resultAt(undefined, [])).toBeUndefined();
  });
});
