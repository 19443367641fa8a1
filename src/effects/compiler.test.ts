import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { CALLS } from "./compiler.ts";

test("the platform knows what it is told about its compilers: of what it does not know it would only complain", () => {
  const known = execFileSync(process.execPath, ["--v8-options"], { encoding: "utf8" });
  for (const flag of Object.keys(CALLS)) expect(known).toContain(`${flag} (`);
});
