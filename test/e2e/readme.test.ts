/** What the README shows is what happens: its plan is run, and each command it names is tried on that run. */
import { chmodSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { openPlace, until } from "../rig/rota.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const README = readFileSync(join(ROOT, "README.md"), "utf8");

const block = (language: string, at: number): string => {
  const blocks = [...README.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, "g"))];
  return blocks[at]?.[1] ?? "";
};

test("the plan in the README runs, waits for its gate, and goes on when it is opened", async () => {
  using place = openPlace();
  place.file("plan.yaml", block("yaml", 0));
  // Whoever reads it may have no `make`: one stands in for it here.
  for (const script of ["fetch.sh", "ship.sh", "make"]) {
    place.file(script, "#!/bin/sh\necho done $1\n");
    chmodSync(join(place.dir, script), 0o755);
  }
  const env = { PATH: `${place.dir}:${process.env["PATH"]}` };
  expect((await place.rota(["check", "plan.yaml"], env)).code).toBe(0);
  expect((await place.rota(["run", "plan.yaml"], env)).code).toBe(3);
  expect((await place.rota(["approve", "ship"], env)).code).toBe(0);
  expect((await place.rota(["run", "plan.yaml", "--resume"], env)).code).toBe(0);
});

/** The commands of a block, without what is said of them. */
const commandsOf = (text: string): readonly string[] =>
  text
    .split("\n")
    .map((line) => line.replace(/#.*/, "").trim())
    .filter((line) => line.startsWith("rota "));

test("every command the README names does what it says", async () => {
  using place = openPlace();
  const commands = commandsOf(block("sh", 1));
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

test("and so does every command it names for agents", async () => {
  using place = openPlace();
  place.file("plan.yaml", "tasks: { draft: { prompt: Write it, pool: writers } }\n");
  const [serve = "", ...commands] = commandsOf(block("sh", 2));
  const daemon = place.start(serve.split(" ").slice(1));
  await until("it serves", () => daemon.err().includes("Serving"));
  const env: Record<string, string> = {};
  expect(commands.length).toBeGreaterThan(4);
  for (const command of commands) {
    const words = (command.match(/"[^"]*"|\S+/g) ?? []).slice(1).map((word) => word.replaceAll('"', ""));
    const { code, out, err } = await place.rota(words, env);
    expect(code, `${command}\n${err}`).toBe(0);
    if (words[1] === "join") env["ROTA_SESSION"] = out.trim();
  }
  daemon.child.kill("SIGTERM");
  expect((await daemon.ended).code).toBe(0);
});

test("the commands of the README's first and last block are those the package has", () => {
  expect(README).toContain("npm ci && ./bin/rota run examples/quickstart.yaml");
  expect(README).toContain("npm ci && npm test");
  expect(readFileSync(join(ROOT, ".ci/run"), "utf8")).toContain("npm ci && npm test");
});
