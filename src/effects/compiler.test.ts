import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { SOON } from "./compiler.ts";

test("the platform knows what it is told about its compilers: of what it does not know it would only complain", () => {
  const known = execFileSync(process.execPath, ["--v8-options"], { encoding: "utf8" });
  for (const flag of Object.keys(SOON)) expect(known).toContain(`${flag} (`);
});

/** Calls a function as often as a seldom called part of a daemon, and says whether it was compiled for good, and whether at all. */
const CALLED = `
  import * as compiler from ${JSON.stringify(join(import.meta.dirname, "compiler.ts"))};
  const [, when] = process.argv;
  if (when in compiler) compiler.compileAfter(compiler[when]);
  const add = (a, b) => a + b;
  for (let call = 0; call < 2_000; call++) add(call, 1);
  const [MAGLEVVED, TURBOFANNED] = [1 << 5, 1 << 6];
  const status = %GetOptimizationStatus(add);
  console.log((status & TURBOFANNED) !== 0 ? "for good" : (status & MAGLEVVED) !== 0 ? "halfway" : "not");
`;

test.each([
  ["SOON", "for good"],
  ["otherwise", "halfway"],
  ["LATE", "not"],
])("what is called two thousand times is compiled %s: %s", (when, compiled) => {
  // On this thread, so that it does not depend on how busy another one is.
  const flags = ["--disable-warning=ExperimentalWarning", "--allow-natives-syntax", "--no-concurrent-recompilation"];
  const args = [...flags, "--input-type=module", "--eval", CALLED, when];
  expect(execFileSync(process.execPath, args, { encoding: "utf8" }).trim()).toBe(compiled);
});
