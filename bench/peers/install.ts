/** Brings the peers that npm has, at the versions of this folder's manifest, the first time somebody asks for them. */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const FOLDER = import.meta.dirname;
export const PEERS_MODULES = join(FOLDER, "node_modules");
const TIMEOUT_MS = 300_000;
const REASON_LENGTH = 300;

export type Availability = { readonly version: string } | { readonly skipped: string };

/** The pinned version once it is there, or why it cannot be. */
export function bringPeer(name: string): Availability {
  const wanted = (readJson(join(FOLDER, "package.json")) as { dependencies: Record<string, string> }).dependencies[
    name
  ];
  if (wanted === undefined) return { skipped: `${name} is not in bench/peers/package.json` };
  if (installed(name) !== wanted) failure ??= install();
  return installed(name) === wanted ? { version: wanted } : { skipped: failure ?? "npm did not install it" };
}

/** Asked once: a machine without a registry should not be made to wait for each of them. */
let failure: string | undefined;

function install(): string {
  process.stderr.write("installing the peers into bench/peers/node_modules …\n");
  // No scripts: none of these needs one to run, and a benchmark should not run a stranger's. No lock file: it would have to list
  // the binaries of every platform, and not every registry has them all.
  const args = ["install", "--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund"];
  const npm = process.env.npm_execpath;
  const [file, before] = npm === undefined ? ["npm", []] : [process.execPath, [npm]];
  const done = spawnSync(file, [...before, ...args], { cwd: FOLDER, encoding: "utf8", timeout: TIMEOUT_MS });
  if (done.status === 0) return "npm did not install it";
  const said =
    done.error?.message ??
    done.stderr
      .split("\n")
      .filter((line) => line.startsWith("npm error"))
      .join(" ");
  return `npm install failed: ${said.slice(0, REASON_LENGTH)}`;
}

function installed(name: string): string | undefined {
  const manifest = join(PEERS_MODULES, name, "package.json");
  return existsSync(manifest) ? (readJson(manifest) as { version: string }).version : undefined;
}

const readJson = (path: string): unknown => JSON.parse(readFileSync(path, "utf8"));
