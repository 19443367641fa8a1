/** `npm run docs` writes the reference pages; with `--check` it only says which of them are out of step. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { livePicture } from "./picture.ts";
import { referencePages } from "./reference.ts";

const root = resolve(import.meta.dirname, "..");
const pages = [...referencePages(), ["docs/live.svg", livePicture()] as const];

if (process.argv.includes("--check")) {
  const stale = pages.filter(([path, text]) => textOf(path) !== text).map(([path]) => path);
  for (const path of stale) console.error(`${path} is out of step with the code: run \`npm run docs\``);
  process.exitCode = stale.length === 0 ? 0 : 1;
} else {
  for (const [path, text] of pages) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(join(root, path), "utf8");
  } catch {
    return undefined;
  }
}
