import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { CALLS } from "./compiler.ts";

test("the platform knows what it is told about its compilers: of what it does not know it would only complain", () => {
  const known = execFileSync(process.execPath, ["--v8-options"], { encoding: "utf8" });
  for (const flag of Object.keys(CALLS)) expect(known).toContain(`${flag} (`);
});

/** Calls a function as often as a seldom called part of a daemon, and says whether it was compiled for good. */
const CALLED = `
  import { compileSoon } from ${JSON.stringify(join(import.meta.dirname, "compiler.ts"))};
  if (process.argv[1] !== "otherwise") compileSoon();
  const add = (a, b) => a + b;
  for (let call = 0; call < 2_000; call++) add(call, 1);
  const TURBOFANNED = 1 << 6;
  console.log((%GetOptimizationStatus(add) & TURBOFANNED) !== 0);
`;

test.each([
  ["when it is to be so soon", "true"],
  ["otherwise", "false"],
])("what is called two thousand times is compiled for good %s: %s", (when, isCompiled) => {
  // On this thread, so that it does not depend on how busy another one is.
  const flags = ["--disable-warning=ExperimentalWarning", "--allow-natives-syntax", "--no-concurrent-recompilation"];
  const args = [...flags, "--input-type=module", "--eval", CALLED, when];
  expect(execFileSync(process.execPath, args, { encoding: "utf8" }).trim()).toBe(isCompiled);
});
