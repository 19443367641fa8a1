/** Brings the peers that npm has, at the versions of this folder's manifest, the first time they are needed. */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const FOLDER = import.meta.dirname;
export const PEERS_MODULES = join(FOLDER, "node_modules");
const TIMEOUT_MS = 300_000;
const REASON_LENGTH = 300;

export type Availability = { readonly version: string } | { readonly skipped: string };

/** The pinned version once it is there, or why it cannot be. `folder` has the manifest that pins it. */
export function bringPeer(name: string, folder = FOLDER): Availability {
  const { dependencies } = readJson(join(folder, "package.json")) as { dependencies: Record<string, string> };
  const wanted = dependencies[name];
  if (wanted === undefined) return { skipped: `${name} is not in ${folder}/package.json` };
  if (installed(name, folder) !== wanted && !failures.has(folder)) failures.set(folder, install(folder));
  return installed(name, folder) === wanted
    ? { version: wanted }
    : { skipped: failures.get(folder) ?? "npm did not install it" };
}

/** Each folder is tried once: a machine without a registry should not be made to wait for each of its peers. */
const failures = new Map<string, string>();

function install(folder: string): string {
  process.stderr.write(`installing the peers into ${join(folder, "node_modules")} …\n`);
  // No scripts: none of these needs one to run, and a benchmark should not run a stranger's. No lock file: it would have to list
  // the binaries of every platform, and not every registry has them all.
  const args = ["install", "--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund"];
  const npm = process.env.npm_execpath;
  const [file, before] = npm === undefined ? ["npm", []] : [process.execPath, [npm]];
  const done = spawnSync(file, [...before, ...args], { cwd: folder, encoding: "utf8", timeout: TIMEOUT_MS });
  if (done.status === 0) return "npm did not install it";
  const said =
    done.error?.message ??
    done.stderr
      .split("\n")
      .filter((line) => line.startsWith("npm error"))
      .join(" ");
  return `npm install failed: ${said.slice(0, REASON_LENGTH)}`;
}

function installed(name: string, folder: string): string | undefined {
  const manifest = join(folder, "node_modules", name, "package.json");
  return existsSync(manifest) ? (readJson(manifest) as { version: string }).version : undefined;
}

const readJson = (path: string): unknown => JSON.parse(readFileSync(path, "utf8"));
