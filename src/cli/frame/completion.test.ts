import { spawnSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { COMMANDS } from "./commands.ts";
import { firstWords, SCRIPTS } from "./completion.ts";

/** The words that bash offers after these. */
function offered(...words: string[]): string[] {
  const script = `${SCRIPTS.bash(COMMANDS)}
compopt() { :; }
COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 ))
_rota
printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr } = spawnSync("bash", ["-c", script, "bash", ...words], { encoding: "utf8" });
  expect(stderr).toBe("");
  return stdout.split("\n").filter((line) => line !== "");
}

describe("bash", () => {
  test("offers commands first", () => {
    expect(offered("rota", "st")).toEqual(["start", "status"]);
    expect(offered("rota", "")).toEqual([...firstWords(COMMANDS).keys(), "--help", "--version"]);
  });

  test("offers the options of the command", () => {
    expect(offered("rota", "timeline", "--")).toEqual(["--svg", "--html", "--json", "--output", "--state", "--help"]);
  });

  test("offers the words an argument can be", () => {
    expect(offered("rota", "completion", "")).toEqual(["bash", "zsh", "fish"]);
    expect(offered("rota", "help", "wh")).toEqual(["why"]);
  });

  test("offers the second word of a name, and then its options", () => {
    expect(offered("rota", "session", "")).toEqual(["join", "leave", "beat", "wait"]);
    expect(offered("rota", "token", "re")).toEqual(["revoke"]);
    expect(offered("rota", "session", "beat", "--")).toEqual(["--is", "--json", "--state", "--socket", "--help"]);
    expect(offered("rota", "session", "beat", "--is", "p")).toEqual(["prompting"]);
  });

  test("leaves plans to the names of files", () => {
    expect(offered("rota", "run", "")).toEqual([]);
  });
});

describe.each(["zsh", "fish"] as const)("%s", (shell) => {
  const script = SCRIPTS[shell](COMMANDS);

  test("knows every command and every option", () => {
    for (const { name, options } of COMMANDS) {
      expect(script).toContain(shell === "fish" ? name.replace(" ", "; and __fish_seen_subcommand_from ") : name);
      for (const option of Object.keys(options))
        expect(script).toContain(shell === "fish" ? `-l ${option}` : `--${option}`);
    }
  });

  test("has quotes that match", () => {
    const isInstalled = spawnSync(shell, ["-c", "true"]).status === 0;
    if (isInstalled) expect(spawnSync(shell, ["-n", "-c", script]).status).toBe(0);
    // An apostrophe in a description would break this first.
    expect(script.replaceAll("'\\''", "").replaceAll("\\'", "").split("'").length % 2).toBe(1);
  });
});
