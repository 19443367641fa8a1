/** The peers that are programs for Node: wireit for graphs, nx and turbo for workspaces of packages. No cache, no daemon, no telemetry. */
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { AT_ONCE, type Contender, write } from "../processes/contenders.ts";
import { ends, type Graph } from "../processes/graphs.ts";
import { bringPeer, PEERS_MODULES } from "./install.ts";

/** Started by `node --run`, the quickest way it offers. */
export const wireit: Contender = {
  name: "wireit",
  roundsMax: 3,
  available: () => bringPeer("wireit"),
  prepare(graph, directory) {
    const scripts = Object.fromEntries(["all", ...graph.map(({ id }) => id)].map((id) => [id, "wireit"]));
    const steps = graph.map(({ id, needs }) => [id, { command: "true", dependencies: needs }]);
    const config = { all: { dependencies: ends(graph) }, ...Object.fromEntries(steps) };
    write(directory, "package.json", JSON.stringify({ name: "bench", private: true, scripts, wireit: config }));
    symlinkSync(PEERS_MODULES, join(directory, "node_modules"));
    return {
      file: process.execPath,
      args: ["--run", "all"],
      cwd: directory,
      env: { WIREIT_PARALLEL: String(AT_ONCE), WIREIT_CACHE: "none", WIREIT_LOGGER: "simple" },
    };
  },
};

export const nx: Contender = {
  name: "nx",
  available: () => bringPeer("nx"),
  prepare(graph, directory) {
    writeWorkspace(graph, directory);
    const settings = { useDaemonProcess: false, neverConnectToCloud: true, analytics: false };
    write(directory, "nx.json", JSON.stringify(settings));
    const program = join(PEERS_MODULES, "nx/dist/bin/nx.js");
    const args = ["run-many", "-t", "build", `--parallel=${AT_ONCE}`, "--skipNxCache", "--outputStyle=static"];
    return {
      file: process.execPath,
      args: [program, ...args],
      cwd: directory,
      env: { NX_DAEMON: "false", NX_NO_CLOUD: "true", NX_TUI: "false" },
    };
  },
};

export const turbo: Contender = {
  name: "turbo",
  available: () => bringPeer("turbo"),
  prepare(graph, directory) {
    writeWorkspace(graph, directory);
    write(directory, "turbo.json", JSON.stringify({ tasks: { build: { cache: false } } }));
    return {
      file: join(PEERS_MODULES, ".bin/turbo"),
      args: ["run", "build", `--concurrency=${AT_ONCE}`, "--force", "--output-logs=errors-only"],
      cwd: directory,
      env: { TURBO_TELEMETRY_DISABLED: "1", DO_NOT_TRACK: "1" },
    };
  },
};

/** One package a task, each with a `build` script, and the lock file that npm would have written. */
function writeWorkspace(graph: Graph, directory: string): void {
  const workspaces = ["packages/*"];
  const root = { name: "bench", private: true, workspaces, packageManager: "npm@11.0.0" };
  write(directory, "package.json", JSON.stringify(root));
  const packages: Record<string, unknown> = { "": { name: "bench", workspaces } };
  for (const { id } of graph) {
    const manifest = { name: id, version: "1.0.0", private: true };
    write(join(directory, "packages", id), "package.json", JSON.stringify({ ...manifest, scripts: { build: "true" } }));
    packages[`packages/${id}`] = { name: id, version: "1.0.0" };
    packages[`node_modules/${id}`] = { resolved: `packages/${id}`, link: true };
  }
  write(
    directory,
    "package-lock.json",
    JSON.stringify({ name: "bench", lockfileVersion: 3, requires: true, packages }),
  );
  symlinkSync(PEERS_MODULES, join(directory, "node_modules"));
}
