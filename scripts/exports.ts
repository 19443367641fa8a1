/** What the package exports, with the sentence that stands above each where it is written. By pattern: the compiler ships no programmatic API. */
import { readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";

export interface Exported {
  readonly name: string;
  /** Gone when the program runs. */
  readonly isType: boolean;
  /** Where it is written, from the root. */
  readonly file: string;
  /** Empty where nothing is said. */
  readonly sentence: string;
}

const ROOT = resolve(import.meta.dirname, "..");
const LISTED = /export (type )?(?:\{([^}]*)\}|\*) from "([^"]+)";/g;

export function packageExports(): readonly Exported[] {
  const index = join(ROOT, "src/index.ts");
  return [...readFileSync(index, "utf8").matchAll(LISTED)].flatMap(([, type, names, from = ""]) => {
    const file = resolve(dirname(index), from);
    const text = readFileSync(file, "utf8");
    const listed = names === undefined ? declaredIn(text) : names.split(",").map((each) => each.trim());
    return listed
      .filter((each) => each !== "")
      .map((each) => {
        const name = each.replace(/^type /, "");
        const isType = type !== undefined || each !== name;
        return { name, isType, file: relative(ROOT, file), sentence: sentenceAbove(name, text) };
      });
  });
}

const declaredIn = (text: string): readonly string[] =>
  [...text.matchAll(/^export (?:interface|type) (\w+)/gm)].map(([, name = ""]) => name);

/** The comment that ends right above the declaration. */
function sentenceAbove(name: string, text: string): string {
  const declared = new RegExp(`^export (?:async )?(?:function|class|interface|type|const) ${name}\\b`, "m").exec(text);
  const above = text
    .slice(0, declared?.index ?? 0)
    .replace(/(?:^\/\/.*\n)+$/m, "")
    .trimEnd();
  const begins = above.lastIndexOf("/**");
  if (declared === null || !above.endsWith("*/") || above.slice(begins, -2).includes("*/")) return "";
  const words = above.slice(begins + 3, -2).replace(/^\s*\* ?/gm, " ");
  return words.replace(/\s+/g, " ").trim();
}
