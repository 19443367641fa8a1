/** The root directory of a project, and so which plans share a state directory. */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";

export const CONFIG_FILES = ["rota.config.yaml", "rota.config.json"] as const;

/** One of these marks the root of a project. A worktree of git has a file of that name. */
const PROJECT_MARKS = [...CONFIG_FILES, ".git"];

/** The nearest directory from here upwards that is the root of a project. */
export const projectOf = (folder: string): string | undefined => nearest(folder, PROJECT_MARKS);

/** The nearest directory from here upwards that contains one of these names. */
export function nearest(from: string, names: readonly string[]): string | undefined {
  for (let folder = from; ; folder = dirname(folder)) {
    if (names.some((name) => existsSync(join(folder, name)))) return folder;
    if (dirname(folder) === folder) return undefined;
  }
}
