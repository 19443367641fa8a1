import { expect, test } from "vitest";
import { task } from "../../test/rig/builders.ts";
import { openRig } from "../../test/rig/rig.ts";
import { seconds } from "../domain/time.ts";
import { loadConfig } from "./config/config.ts";
import { engineOptions } from "./scheduler.ts";

/** Which tasks start first with settings from these variables. */
async function started(env: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const { values } = await loadConfig({ cwd: "/", env, flags: {} });
  const rig = await openRig({ ...engineOptions(values), workers: 2 });
  await rig.submit([
    task("prepare", { estimate: seconds(2) }),
    task("one", { estimate: seconds(7) }),
    task("two", { estimate: seconds(7) }),
    task("report", { needs: ["prepare"], estimate: seconds(3) }),
  ]);
  return rig.machine.started;
}

test("the setting `policy` decides whether orders are tried out", async () => {
  expect(await started({})).toEqual(["one", "two"]);
  expect(await started({ ROTA_POLICY: "plain" })).toEqual(["one", "two"]);
  expect(await started({ ROTA_POLICY: "rollout" })).toContain("prepare");
});
