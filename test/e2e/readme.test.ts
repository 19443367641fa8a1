/** What the README shows is what happens: its plan is run, and each command it names is tried on that run. */
import { chmodSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { openPlace } from "../rig/rota.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const README = readFileSync(join(ROOT, "README.md"), "utf8");

const block = (language: string, at: number): string => {
  const blocks = [...README.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, "g"))];
  return blocks[at]?.[1] ?? "";
};

test("the plan in the README runs, waits for its gate, and goes on when it is opened", async () => {
  using place = openPlace();
  place.file("plan.yaml", block("yaml", 0));
  for (const script of ["fetch.sh", "ship.sh"]) {
    place.file(script, "#!/bin/sh\necho done\n");
    chmodSync(join(place.dir, script), 0o755);
  }
  place.file("Makefile", "build:\n\t@echo built\ntest:\n\t@echo tested\n");
  expect((await place.rota(["check", "plan.yaml"])).code).toBe(0);
  expect((await place.rota(["run", "plan.yaml"])).code).toBe(3);
  expect((await place.rota(["approve", "ship"])).code).toBe(0);
  expect((await place.rota(["run", "plan.yaml", "--resume"])).code).toBe(0);
});

test("every command the README names does what it says", async () => {
  using place = openPlace();
  const commands = block("sh", 1)
    .split("\n")
    .map((line) => line.replace(/#.*/, "").trim())
    .filter((line) => line.startsWith("rota "));
  expect(commands.length).toBeGreaterThan(8);
  for (const command of commands) {
    const words = command.split(" ").slice(1);
    const { code, err } = await place.rota(asTyped(words));
    // Everything has succeeded, so there is nothing to try again: the one command that may refuse here.
    expect(code, `${command}\n${err}`).toBe(words[0] === "retry" ? 2 : 0);
  }
});

/** The tasks the README speaks of are of its own plan; this run is of the one that `rota init` writes. */
const asTyped = (words: readonly string[]): string[] => words.map((word) => (word === "ship" ? "build" : word));
test("the commands of the README's first and last block are those the package has", () => {
  expect(README).toContain("npm ci && ./bin/rota run examples/quickstart.yaml");
  expect(README).toContain("npm ci && npm test");
  expect(readFileSync(join(ROOT, ".ci/run"), "utf8")).toContain("npm ci && npm test");
});
