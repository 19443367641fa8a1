import { describe, expect, test } from "vitest";
import { UserError } from "../../domain/errors.ts";
import type { CommandSpec } from "./command.ts";
import { parseCommandLine } from "./parse.ts";

const paint: CommandSpec = {
  name: "paint",
  group: "Run it",
  summary: "Paint something",
  arguments: [
    { name: "WALL", describe: "Which wall", required: true },
    { name: "SIDE", describe: "Which side", required: false, choices: ["inside", "outside"] },
  ],
  options: {
    color: { kind: "text", describe: "The colour", choices: ["red", "blue"] },
    coats: { kind: "count", describe: "How many coats", value: "N", short: "c" },
    fast: { kind: "flag", describe: "In a hurry", short: "f" },
    json: { kind: "flag", describe: "JSON" },
    state: { kind: "text", describe: "Where", value: "DIR", completes: "folder" },
    tool: { kind: "text", describe: "With what", many: true, choices: ["brush", "roll"] },
    dry: { kind: "span", describe: "How long it dries" },
  },
  examples: [],
  load: () => Promise.reject(new Error("not here")),
};
const sweep: CommandSpec = {
  ...paint,
  name: "sweep",
  arguments: [{ name: "ROOM", describe: "Rooms", required: false, many: true }],
  options: {},
};

const join: CommandSpec = { ...paint, name: "session join", arguments: [] };
const leave: CommandSpec = { ...sweep, name: "session leave" };
const all = [paint, sweep, join, leave, { ...sweep, name: "help" }];

const parse = (...args: string[]) => parseCommandLine(args, all);

/** The input that a command would get. */
function seen(...args: string[]) {
  const line = parse(...args);
  if (line.kind !== "command") throw new Error(`read as ${line.kind}`);
  const { input, command } = line;
  return {
    command: command.name,
    arguments: input.arguments,
    color: input.text("color"),
    coats: input.count("coats"),
    fast: input.flag("fast"),
    json: input.flag("json"),
    state: input.text("state"),
  };
}

const NOTHING = { color: undefined, coats: undefined, fast: false, json: false, state: undefined };

/** The message of the USAGE error. */
function refusal(...args: string[]): string {
  try {
    parse(...args);
  } catch (error) {
    if (error instanceof UserError && error.code === "USAGE") return error.message;
    throw error;
  }
  throw new Error("was not refused");
}

describe("what is typed", () => {
  test("is read by kind", () => {
    expect(seen("paint", "north", "--color", "red", "--coats=2", "--fast")).toEqual({
      ...NOTHING,
      command: "paint",
      arguments: ["north"],
      color: "red",
      coats: 2,
      fast: true,
    });
  });

  test("may come several times where all of them count, else the last one does", () => {
    const line = parse("paint", "north", "--tool", "roll", "--coats=1", "--tool=brush", "--coats=2");
    if (line.kind !== "command") throw new Error(`read as ${line.kind}`);
    expect(line.input.texts("tool")).toEqual(["roll", "brush"]);
    expect(line.input.count("coats")).toBe(2);
    expect(line.input.texts("color")).toEqual([]);
    expect(refusal("paint", "north", "--tool", "roll", "--tool", "rol")).toContain('Did you mean "roll"?');
  });

  test("may use short names, alone and together", () => {
    expect(seen("paint", "-fc", "3", "north")).toEqual({
      ...NOTHING,
      command: "paint",
      arguments: ["north"],
      coats: 3,
      fast: true,
    });
  });

  test("is an argument after --, whatever it looks like", () => {
    expect(seen("paint", "--", "--color", "inside").arguments).toEqual(["--color", "inside"]);
  });

  test("may have shared options before the command", () => {
    const expected = { ...NOTHING, command: "paint", arguments: ["north"], json: true, state: "here" };
    expect(seen("--json", "--state", "here", "paint", "north")).toEqual(expected);
    expect(seen("--state=here", "paint", "--json", "north")).toEqual(expected);
  });

  test("counts once when given twice, the last one", () => {
    expect(seen("paint", "north", "--color", "red", "--color", "blue").color).toBe("blue");
  });

  test("may be any number of arguments where the command says so", () => {
    expect(seen("sweep", "a", "b", "c").arguments).toEqual(["a", "b", "c"]);
  });

  test("may be a dash, which stands for a stream elsewhere", () => {
    expect(seen("paint", "-").arguments).toEqual(["-"]);
  });
});

describe("a name of two words", () => {
  test("is read as one, with its options and arguments after it", () => {
    expect(seen("session", "join", "--json")).toEqual({
      ...NOTHING,
      command: "session join",
      arguments: [],
      json: true,
    });
    expect(seen("--state", "here", "session", "join").state).toBe("here");
    expect(seen("session", "leave", "s1").arguments).toEqual(["s1"]);
  });

  test("shows what there is where the second word is missing", () => {
    expect(refusal("session")).toBe('"session" needs to know what to do: join, leave');
    expect(refusal("session", "jion")).toBe('"session jion" is not a command. Did you mean "session join"?');
    expect(refusal("sesion")).toBe('"sesion" is not a command. Did you mean "session"?');
  });

  test("has help of its own, and the first word of it too", () => {
    expect(parse("help", "session", "join")).toEqual({ kind: "help", command: join, asked: true });
    expect(parse("session", "join", "-h")).toEqual({ kind: "help", command: join, asked: true });
    for (const args of [
      ["help", "session"],
      ["session", "--help"],
    ]) {
      expect(parse(...args)).toEqual({ kind: "help", family: "session", asked: true });
    }
  });
});

test("a span of time is read in milliseconds", () => {
  const line = parse("paint", "north", "--dry", "1h30m");
  expect(line.kind === "command" && line.input.span("dry")).toBe(5_400_000);
  expect(refusal("paint", "north", "--dry", "soon")).toBe(
    'paint: --dry must be a span of time such as 90s or 1h30m, not "soon"',
  );
  expect(refusal("paint", "north", "--dry", "5")).toMatch(/must be a span of time/);
});

describe("help and version", () => {
  test.each([
    [["--version"], { kind: "version" }],
    [["-V"], { kind: "version" }],
    [["--help"], { kind: "help", asked: true }],
    [["-h"], { kind: "help", asked: true }],
    [["help"], { kind: "help", asked: true }],
    [[], { kind: "help", asked: false }],
  ])("%j", (args, expected) => {
    expect(parse(...args)).toEqual(expected);
  });

  test.each([
    [["help", "paint"]],
    [["paint", "--help"]],
    [["paint", "-h", "--color", "red"]],
    [["paint", "--fast", "-h"]],
  ])("%j shows the page of the command, even when something is missing", (args) => {
    expect(parse(...args)).toEqual({ kind: "help", command: paint, asked: true });
  });
});

describe("what does not fit is refused", () => {
  test.each([
    [["pant"], '"pant" is not a command. Did you mean "paint"?'],
    [["xyzzy"], '"xyzzy" is not a command'],
    [["help", "swep"], '"swep" is not a command. Did you mean "sweep"?'],
    [["--json"], "A command is missing after --json"],
    [["--state"], "--state needs a value: --state DIR"],
    [["--state="], "--state needs a value: --state DIR"],
    [
      ["--state", "--json"],
      '--state needs a value, but "--json" follows it. If that is the value, write --state=--json',
    ],
    [["--state", "paint"], "A command is missing after --state paint"],
    [["--jsno"], "--jsno is not an option here. Did you mean --json?"],
    [["paint", "north", "--colour", "red"], "paint: --colour is not an option here. Did you mean --color?"],
    [["paint", "north", "-x"], "paint: -x is not an option here"],
    [["paint", "north", "--toString"], "paint: --toString is not an option here"],
    [["paint"], "paint: WALL is missing: Which wall"],
    [["paint", "a", "inside", "b"], 'paint: "b" is one argument too many'],
    [["paint", "a", "insde"], 'paint: SIDE must be one of inside, outside, not "insde". Did you mean "inside"?'],
    [["paint", "north", "--color"], "paint: --color needs a value: --color VALUE"],
    [["paint", "north", "--state", ""], "paint: --state needs a value: --state DIR"],
    [["--state=", "paint", "north"], "paint: --state needs a value: --state DIR"],
    [
      ["paint", "north", "--coats", "--fast"],
      'paint: --coats needs a value, but "--fast" follows it. If that is the value, write --coats=--fast',
    ],
    [["paint", "north", "--fast=yes"], 'paint: --fast takes no value, but was given "yes"'],
    [["paint", "north", "--coats", "two"], 'paint: --coats must be a whole number, not "two"'],
    [["paint", "north", "--coats", "-1"], 'paint: --coats must be a whole number, not "-1"'],
    [["paint", "north", "--coats", "1e3"], 'paint: --coats must be a whole number, not "1e3"'],
    [["paint", "north", "--color", "blu"], 'paint: --color must be one of red, blue, not "blu". Did you mean "blue"?'],
    [["sweep", "--state", "x"], "sweep: --state is not an option here"],
  ])("%j", (args, message) => {
    expect(refusal(...args)).toBe(message);
  });

  test("with a hint that leads to the command's own page", () => {
    expect(() => parse("paint")).toThrow(
      expect.objectContaining({ hint: "Run `rota help paint` to see how it is used." }),
    );
  });
});
