import { expect, test } from "vitest";
import { freshDir, rota } from "../../test/rig/cli.ts";
import { checkPlan, loadPlan, planText } from "./plan-file.ts";

const nameless = "/ cannot be read: It is a directory";

test("a directory without a last name is called by its path", async () => {
  await expect(checkPlan("/", { strict: false })).rejects.toThrow(nameless);
  await expect(loadPlan("/", { strict: false })).rejects.toThrow(nameless);
  await expect(planText("/")).rejects.toThrow(nameless);
});

test("the directory one is in is called as it was typed", async () => {
  const cwd = freshDir();
  for (const typed of [".", "./", cwd]) {
    expect((await rota(["check", typed], { cwd })).err).toMatch(`PLAN_UNREADABLE: ${typed} cannot be read: It is a`);
  }
  const { out } = await rota(["check", ".", "--json"], { cwd });
  expect(JSON.parse(out)).toMatchObject({ diagnostics: [{ file: "." }] });
});
