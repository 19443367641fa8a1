/** Who runs the graphs: the floor, Rota, and the programs people use for this. Each writes its own files, outside what is timed. */
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { CommandLine } from "./command.ts";
import { ends, type Graph } from "./graphs.ts";

export interface Contender {
  readonly name: string;
  /** Rounds it takes part in at most, where it is slow. */
  readonly roundsMax?: number;
  /** Its version, or why it takes no part. */
  available(): { readonly version: string } | { readonly skipped: string };
  /** Writes what it needs into an empty directory. */
  prepare(graph: Graph, directory: string): CommandLine;
  /** What it says itself about how long it took. */
  readOwnMs?(stdout: string): number;
}

export const AT_ONCE = 2;
export const ROTA = fileURLToPath(new URL("../../bin/rota", import.meta.url));
const FLOOR = fileURLToPath(new URL("./floor.mjs", import.meta.url));

/** A bare loop in the same Node: nothing that keeps promises can be faster. */
export const floor: Contender = {
  name: "floor",
  available: () => ({ version: process.version }),
  prepare(graph, directory) {
    write(directory, "graph.json", JSON.stringify(graph));
    return { file: process.execPath, args: [FLOOR, "graph.json", String(AT_ONCE)], cwd: directory };
  },
};

export const rota = (name: string, env: Readonly<Record<string, string>> = {}): Contender => ({
  name,
  available: () => versionFrom(ROTA),
  prepare(graph, directory) {
    const tasks = Object.fromEntries(graph.map(({ id, needs }) => [id, { run: ["true"], needs }]));
    write(directory, "plan.json", JSON.stringify({ name: "bench", tasks }));
    const args = ["run", "plan.json", "--workers", String(AT_ONCE), "--json", "--state", join(directory, "state")];
    return { file: ROTA, args, cwd: directory, env };
  },
  readOwnMs: (stdout) =>
    (JSON.parse(stdout.trim().split("\n").at(-1) as string) as { duration_ms: number }).duration_ms,
});

export const make: Contender = {
  name: "make",
  available: () => versionFrom("make"),
  prepare(graph, directory) {
    const rules = graph.map(({ id, needs }) => `${id}: ${needs.join(" ")}\n\ttrue\n`);
    const phony = `.PHONY: all ${graph.map(({ id }) => id).join(" ")}\n`;
    write(directory, "Makefile", `all: ${ends(graph).join(" ")}\n${phony}${rules.join("")}`);
    return { file: "make", args: ["-s", "-rR", `-j${AT_ONCE}`, "all"], cwd: directory };
  },
};

export const ninja: Contender = {
  name: "ninja",
  available: () => versionFrom("ninja"),
  prepare(graph, directory) {
    const builds = graph.map(({ id, needs }) => `build ${id}: run ${needs.join(" ")}\n`);
    write(directory, "build.ninja", `rule run\n  command = true\n${builds.join("")}`);
    return { file: "ninja", args: ["--quiet", `-j${AT_ONCE}`], cwd: directory };
  },
};

export function write(directory: string, name: string, text: string): void {
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, name), text);
}

function versionFrom(program: string): { readonly version: string } | { readonly skipped: string } {
  try {
    const said = execFileSync(program, ["--version"], { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
    return { version: said.split("\n", 1)[0] as string };
  } catch (error) {
    return { skipped: `${program} cannot be run here: ${(error as NodeJS.ErrnoException).code ?? "it failed"}` };
  }
}
