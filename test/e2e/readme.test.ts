/** What the README shows is what happens: its plan is run, and each command it names is tried on that run. */
import { spawn, spawnSync } from "node:child_process";
import { chmodSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { openPlace, type Place, until } from "../rig/rota.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const README = readFileSync(join(ROOT, "README.md"), "utf8");

/** The block of a language that says this. */
const block = (language: string, says = ""): string => {
  const blocks = [...README.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, "g"))].map(
    ([, text]) => text as string,
  );
  const found = blocks.find((text) => text.includes(says));
  if (found === undefined) throw new Error(`the README has no ${language} that says ${says}`);
  return found;
};

/** The commands of a block, without what is said of them. */
const commandsOf = (text: string): readonly string[] =>
  text
    .split("\n")
    .map((line) => line.replace(/#.*/, "").trim())
    .map((line) => line.replace(/^export \w+=\$\((.*)\)$/, "$1"))
    .filter((line) => line.startsWith("rota "));

const wordsOf = (command: string): string[] =>
  (command.match(/"[^"]*"|\S+/g) ?? []).slice(1).map((word) => word.replaceAll('"', ""));

test("the plan in the README is worked on by four agents, waits for its gate, and goes on when it is opened", async () => {
  using place = openPlace();
  place.file("plan.yaml", block("yaml"));
  // The machine of the reader may have no `npm`: a script replaces it here.
  for (const script of ["ship.sh", "npm"]) {
    place.file(script, "#!/bin/sh\necho done $1\n");
    chmodSync(join(place.dir, script), 0o755);
  }
  const env = { PATH: `${place.dir}:${process.env["PATH"]}` };
  const [check = "", run = ""] = commandsOf(block("sh", "rota check"));
  expect((await place.rota(wordsOf(check), env)).code).toBe(0);
  const running = place.start(wordsOf(run), env);
  await until("sessions can come", async () => (await place.rota(["workers"])).code === 0);
  const pool = /--pool (\S+)/.exec(block("sh", "mcp add"))?.[1] as string;
  const agents = Array.from({ length: 4 }, () => startAgent(place, [pool, "cat"]));
  const ended = await running.ended;
  expect([ended.code, ended.out]).toEqual([3, expect.stringContaining("rota approve ship")]);
  for (const agent of agents) agent.kill();
  expect((await place.rota(["approve", "ship"], env)).code).toBe(0);
  expect((await place.rota([...wordsOf(run), "--resume"], env)).code).toBe(0);
});

/** The script for agents, killed with whatever it waits for. */
function startAgent(place: Place, args: readonly string[]): { kill(): void } {
  const child = spawn(join(ROOT, "examples/agent.sh"), args, {
    cwd: place.dir,
    env: { ...process.env, PATH: `${join(ROOT, "bin")}:${process.env["PATH"]}` },
    detached: true,
    stdio: "ignore",
  });
  const kill = (): void => {
    // It may have left by itself, since the run is over.
    if (child.exitCode === null && child.signalCode === null) process.kill(-(child.pid as number), "SIGKILL");
  };
  return { kill };
}

test("every command the README names does what it says", async () => {
  using place = openPlace();
  // The README's own plan, with its agents' work done by a command and its gate open.
  const plan = block("yaml")
    .replace(/pool: agents, prompt: [^,]+/g, "run: echo done")
    .replace(", gate: Ship it?", "");
  place.file("plan.yaml", plan.replace("npm test", "echo tested").replace("./ship.sh", "echo shipped"));
  const commands = commandsOf(block("sh", "rota init"));
  expect(commands.length).toBeGreaterThan(8);
  for (const command of commands) {
    const words = wordsOf(command);
    const { code, err } = await place.rota(words);
    // Everything has succeeded, so there is nothing to try again: the one command that may refuse here.
    expect(code, `${command}\n${err}`).toBe(words[0] === "retry" ? 2 : 0);
  }
});

test("and so does every command it names for a scheduler that stays", async () => {
  using place = openPlace();
  place.file("plan.yaml", "tasks: { design: { prompt: Write it, pool: agents } }\n");
  const [serve = "", ...commands] = commandsOf(block("sh", "rota serve"));
  const daemon = place.start(wordsOf(serve));
  await until("it serves", () => daemon.err().includes("Serving"));
  const env: Record<string, string> = {};
  expect(commands.length).toBeGreaterThan(4);
  for (const command of commands) {
    const words = wordsOf(command);
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

test("what the README says puts `rota` on the path, and it is then called by that name", () => {
  const script = `${block("sh", "export PATH")}\ncd /; command -v rota; rota help run; rota nonsense`;
  const { stdout, stderr } = spawnSync("sh", ["-c", script], {
    cwd: ROOT,
    env: { PATH: "/usr/bin:/bin" },
    encoding: "utf8",
  });
  expect(stdout).toContain(`${join(ROOT, "bin/rota")}\nRun a plan to its end.`);
  expect(stderr).toContain("(Run `rota help` to see");
});

test("the flow in the head of the example for agents ends", async () => {
  using place = openPlace();
  const head = readFileSync(join(ROOT, "examples/agents.yaml"), "utf8").split("\nname:")[0] as string;
  const [run = "", agent = ""] = [...head.matchAll(/^# {3}(.+)$/gm)].map(([, line]) => line as string);
  const env = { ROTA_STATE: join(place.dir, ".rota") };
  const running = place.start([...wordsOf(run).slice(0, -1), join(ROOT, "examples/agents.yaml")], env);
  await until("sessions can come", async () => (await place.rota(["workers"], env)).code === 0);
  const script = spawn("sh", ["-c", agent.replace(/claude .*/, "cat")], {
    cwd: ROOT,
    env: { ...process.env, ...env, PATH: `${join(ROOT, "bin")}:${process.env["PATH"]}` },
    detached: true,
    stdio: "ignore",
  });
  expect((await running.ended).code).toBe(0);
  process.kill(-(script.pid as number), "SIGKILL");
});

test("npm says nothing of versions before a checkout has brought its own Node", () => {
  expect(readFileSync(join(ROOT, ".npmrc"), "utf8")).toContain("loglevel=error\n");
});
