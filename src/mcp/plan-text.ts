/** The plan at a path that a client gave. */
import { readFile, stat } from "node:fs/promises";
import { dirname, isAbsolute, resolve } from "node:path";
import { UserError } from "../domain/errors.ts";
import type { PlanText } from "./tool.ts";

const PLAN_BYTES_MAX = 64 * 1024 * 1024;

/** Reads plans relative to `directory`; without one a path must be absolute, since the client is not where we are. */
export const planReader =
  (directory?: string) =>
  async (path: string): Promise<PlanText> => {
    if (directory === undefined && !isAbsolute(path))
      throw new UserError("USAGE", "The path of a plan must be absolute here.", {
        hint: "Or give the plan as `text`.",
      });
    const file = directory === undefined ? path : resolve(directory, path);
    try {
      const { size } = await stat(file);
      if (size > PLAN_BYTES_MAX) throw new Error(`it is larger than ${PLAN_BYTES_MAX} bytes`);
      return { text: await readFile(file, "utf8"), file, directory: dirname(file) };
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new UserError("PLAN_UNREADABLE", `${file} cannot be read: ${reason}.`, { cause });
    }
  };
