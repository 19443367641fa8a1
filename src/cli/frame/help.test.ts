import { describe, expect, test } from "vitest";
import { displayWidth } from "../../views/text/text.ts";
import { COMMANDS } from "./commands.ts";
import { helpOn } from "./help.ts";

const screen = { color: false, columns: 80 };

describe("the overview", () => {
  const text = helpOn(undefined, COMMANDS, screen);

  test.each(COMMANDS.map(({ name, summary }) => [name, summary]))("lists %s", (name, summary) => {
    expect(text).toMatch(new RegExp(`^ {2}${name} +${RegExp.escape(summary)}$`, "m"));
  });

  test("has headings in bold where there are colours", () => {
    expect(helpOn(undefined, COMMANDS, { ...screen, color: true })).toContain("\u001b[1mUsage\u001b[22m");
    expect(text).not.toContain("\u001b");
  });
});

test("a first word that several commands share has a page that lists them", () => {
  expect(`\n${helpOn("token", COMMANDS, screen)}`).toMatchInlineSnapshot(`
    "
    Say who may call a daemon over TCP.

    Usage
      rota token issue NAME [OPTIONS]
      rota token list [OPTIONS]
      rota token revoke ID [OPTIONS]

    Commands
      token issue   Issue a token for a daemon that listens on TCP
      token list    List the tokens that were issued
      token revoke  Refuse a token from now on

    \`rota help token COMMAND\` shows one of them with its options.
    "
  `);
});

describe.each(COMMANDS.map((command) => [command.name, command] as const))("the page of %s", (_, command) => {
  const text = helpOn(command, COMMANDS, screen);

  test("names every option and argument", () => {
    for (const name of Object.keys(command.options)) expect(text).toContain(`--${name}`);
    for (const { name } of command.arguments) expect(text).toContain(name);
  });

  test("fits the screen, except for examples", () => {
    const lines = text.split("Examples")[0]?.split("\n") ?? [];
    expect(lines.filter((line) => displayWidth(line) > screen.columns)).toEqual([]);
  });

  test("has an example, and a summary without a full stop", () => {
    expect(command.examples.length).toBeGreaterThan(0);
    expect(command.summary).not.toMatch(/\.$/);
  });
});

test("no two options of a command share a short name, and -h is help's", () => {
  for (const { options } of COMMANDS) {
    const shorts = Object.values(options).flatMap(({ short }) => short ?? []);
    expect(new Set(shorts).size).toBe(shorts.length);
    expect(shorts).not.toContain("h");
  }
});
