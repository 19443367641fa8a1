/** Sees to it that what is measured is what the sources say. */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import { join, resolve } from "node:path";

const ROOT = resolve(import.meta.dirname, "../..");

export function buildIfStale(): void {
  const built = join(ROOT, "dist/cli/main.cjs");
  const builtAt = existsSync(built) ? statSync(built).mtimeMs : 0;
  const sources = readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" });
  if (sources.every((path) => statSync(join(ROOT, "src", path)).mtimeMs <= builtAt)) return;
  process.stderr.write("building dist, which is older than src …\n");
  execFileSync(process.execPath, [join(ROOT, "scripts/prepare.mjs")], { stdio: ["ignore", 2, 2] });
}
