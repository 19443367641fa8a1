/** Not by `import`: that would load streams and promises too, for the command that must be quickest. */
const { readFileSync } = process.getBuiltinModule("node:fs");

/** From the package itself, which lies two folders up from here both in `src` and in `dist`. */
export function version(): string {
  const manifest = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return (JSON.parse(manifest) as { version: string }).version;
}
