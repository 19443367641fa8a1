import { describe, expect, test } from "vitest";
import { freshDir, rota } from "../../../test/rig/cli.ts";
import { COMMANDS } from "./commands.ts";
import { COMMAND_WORDS, OPTION_WORDS } from "./foreign.ts";
import { parseCommandLine } from "./parse.ts";

const words = (line: string): readonly string[] => line.split(" ").slice(1);

describe("a command by the name it has elsewhere", () => {
  test.each(Object.entries(COMMAND_WORDS))("%s is answered with a command that can be typed", async (word, meant) => {
    expect(COMMANDS.map(({ name }) => name)).not.toContain(word);
    expect(parseCommandLine(words(meant), COMMANDS)).toBeDefined();
    expect(await rota([word], { cwd: freshDir() })).toEqual({
      code: 2,
      out: "",
      err: `USAGE: "${word}" is not a command (Use \`${meant}\`.)\n`,
    });
  });

  test("reaches the state that a variable names", async () => {
    const { err } = await rota(["ls"], { cwd: freshDir(), env: { ROTA_STATE: "kept" } });
    expect(err).toContain("(Use `rota status --all --state kept`.)");
  });
});

describe("an option by the name it has elsewhere", () => {
  test.each(Object.entries(OPTION_WORDS))("--%s is answered where there is one like it", async (word, meant) => {
    const command = COMMANDS.find(({ options }) => Object.hasOwn(options, meant));
    const { err } = await rota([...(command?.name.split(" ") ?? []), `--${word}`], { cwd: freshDir() });
    expect(err).toContain(`--${word} is not an option here. Did you mean --${meant}?`);
  });

  test("is not where there is none", async () => {
    const { err } = await rota(["doctor", "--jobs"], { cwd: freshDir() });
    expect(err).toContain("--jobs is not an option here (");
  });
});

test.each(["--version", "-V", "-v"])("%s says the version", async (flag) => {
  expect(await rota([flag])).toMatchObject({ code: 0, out: expect.stringMatching(/^\d+\.\d+\.\d+\n$/), err: "" });
});
