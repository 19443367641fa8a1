/** What a person types to start this program: `rota` where a shell finds it under that name, else the way to the script of the checkout. */
import { existsSync, realpathSync } from "node:fs";
import { basename, delimiter, dirname, join, relative } from "node:path";

export function called(entry: string | undefined, path: string | undefined, cwd = process.cwd()): string {
  // A package puts a link with the program's name on the path; the script of a checkout starts the built file itself.
  if (entry === undefined || !/^main\.[cm]?[jt]s$/.test(basename(entry))) return NAME;
  const script = join(dirname(entry), "../../bin", NAME);
  if (!existsSync(script)) return NAME;
  const own = realpathSync(script);
  if ((path ?? "").split(delimiter).some((folder) => folder !== "" && realOf(join(folder, NAME)) === own)) return NAME;
  const short = relative(cwd, own);
  return short.startsWith("..") ? own : `./${short}`;
}

const NAME = "rota";

function realOf(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}
