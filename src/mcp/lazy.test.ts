/** What speaks the protocol takes longer to load than most commands take to run. */
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";

const src = resolve(import.meta.dirname, "..");
const IMPORT = /^(?:import|export)(?! type\b)\b[^"'()]*["']([^"']+)["']/gm;

/** What a module loads as it is loaded itself, by its path. */
const imports = new Map(
  readdirSync(src, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts") && !path.endsWith(".test.ts"))
    .map((path) => {
      const file = join(src, path);
      const found = [...readFileSync(file, "utf8").matchAll(IMPORT)].map(([, to = ""]) => to);
      return [file, found.map((to) => (to.startsWith(".") ? resolve(file, "..", to) : to))] as const;
    }),
);

const speaks = (file: string, seen = new Set<string>()): boolean => {
  if (file.startsWith("@modelcontextprotocol/")) return true;
  if (seen.has(file)) return false;
  seen.add(file);
  return (imports.get(file) ?? []).some((to) => speaks(to, seen));
};

test("no command loads it: `rota mcp` does when it serves, and a daemon with the first request to /mcp", () => {
  const speaking = [...imports.keys()].filter((file) => speaks(file)).map((file) => file.slice(src.length + 1));
  expect(speaking.sort()).toEqual(["mcp/call.ts", "mcp/connection.ts", "mcp/http.ts", "mcp/stdio.ts"]);
});
