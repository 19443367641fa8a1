import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { freshDir, rota, spawnRota } from "../../../test/rig/cli.ts";
import type { Surroundings } from "./command.ts";
import { COMMANDS } from "./commands.ts";
import { commandsTo, withCommands } from "./printed.ts";

const GATED = "name: p\ntasks:\n  one: { run: 'true' }\n  ship: { run: 'true', needs: [one], gate: Sure? }\n";

function writer(around: Partial<Surroundings>, root: string, socket?: string) {
  const surroundings = { terminal: undefined as never, env: {}, cwd: "/w", ...around };
  return commandsTo(COMMANDS, surroundings)({ root, ...(socket !== undefined && { socket }) });
}

describe("a printed command", () => {
  test("names no directory that is found without", () => {
    expect(writer({}, "/w/.rota")(["why", "a"])).toBe("rota why a");
  });

  test("names the directory it has to reach, in quotes where a shell wants them", () => {
    expect(writer({}, "/w/my state")(["why", "a"])).toBe("rota why a --state 'my state'");
    expect(writer({}, "/elsewhere/.rota")(["logs", "a", "-f"], "r-1")).toBe(
      "rota logs a -f --run r-1 --state /elsewhere/.rota",
    );
  });

  test("works in a shell that has the variable as well as in a shell without it", () => {
    const env = { ROTA_STATE: "kept" };
    expect(writer({ env }, "/w/kept")(["status"])).toBe("rota status --state kept");
    expect(writer({ env }, "/w/.rota")(["status"])).toBe("rota status --state .rota");
  });

  test("names the socket of the daemon for the commands that call it", () => {
    const write = writer({}, "/w/.rota", "/run/d.sock");
    expect(write(["complete", "a"])).toBe("rota complete a --socket /run/d.sock");
    expect(write(["why", "a"])).toBe("rota why a");
  });

  test("takes the state directory of its plan into account", () => {
    const dir = freshDir();
    mkdirSync(join(dir, "plans"));
    writeFileSync(join(dir, ".git"), "");
    const plan = join(dir, "plans/p.yaml");
    expect(writer({ cwd: dir }, join(dir, ".rota"))(["run", plan, "--resume"])).toBe(`rota run ${plan} --resume`);
    expect(writer({ cwd: "/w" }, join(dir, ".rota"))(["run", plan, "--resume"])).toBe(`rota run ${plan} --resume`);
    expect(writer({ cwd: "/w" }, join(dir, ".rota"))(["status"])).toBe(`rota status --state ${dir}/.rota`);
  });

  test("begins with what the program was started as", () => {
    expect(writer({ program: () => "./bin/rota" }, "/w/.rota")(["status"])).toBe("./bin/rota status");
  });

  test("is completed within a text, and filled with what is known", () => {
    const write = writer({}, "/w/s");
    expect(withCommands("Look with `rota why TASK`, or `make`.", write, { TASK: "ship" })).toBe(
      "Look with `rota why ship --state s`, or `make`.",
    );
  });
});

/** The commands under `Next`, as arguments. */
const nextOf = (out: string): string[][] =>
  [...out.matchAll(/^ {2}rota (.*?) {2,}/gm)].map(([, line = ""]) => line.split(" "));

test("following the commands that are printed goes on with the same run", async () => {
  const cwd = freshDir();
  writeFileSync(join(cwd, "p.yaml"), GATED);
  const stopped = await rota(["run", "p.yaml", "--state", "sX"], { cwd });
  const [approve = [], resume = []] = nextOf(stopped.out);
  expect((await rota(approve, { cwd })).code).toBe(0);
  const { code, out } = await rota([...resume, "--json"], { cwd });
  expect({ code, ...JSON.parse(out) }).toMatchObject({ code: 0, attempts: 2, tasks: { succeeded: 2 } });
});

test("every command that a look or a refusal names reaches the directory that was named", async () => {
  const cwd = freshDir();
  writeFileSync(join(cwd, "p.yaml"), GATED);
  await rota(["run", "p.yaml", "--state", "sX"], { cwd });
  for (const args of [["status"], ["why", "ship"], ["why", "shp"], ["approve", "one"], ["status", "x"]]) {
    const { out, err } = await rota([...args, "--state", "sX"], { cwd });
    const printed = [...(out + err).matchAll(/(?:^ {2}|`)rota ([^`\n]*?)(?:`| {2,})/gm)].map(([, line]) => line);
    expect({ args, printed }).toEqual({
      args,
      printed: expect.arrayContaining([expect.stringMatching(/ --state sX/)]),
    });
    expect(printed.filter((line) => !line?.includes("--state sX"))).toEqual([]);
  }
});

test("the script of a checkout is named where no shell finds the program", async () => {
  const cwd = freshDir();
  const { out } = await spawnRota(["init"], { cwd, env: { PATH: "/usr/bin:/bin" } });
  expect(out).toMatch(/Run it with: \S+\/bin\/rota run plan\.yaml\n/);
});
