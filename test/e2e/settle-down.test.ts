/** A daemon settles down when its doors are open; what is to be answered first does not wait for that. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { LATE, SOON } from "../../src/effects/compiler.ts";
import { freshDir, spawnRota } from "../rig/cli.ts";
import { unserved } from "../rig/served.ts";

/** Says what the platform is told about its compilers, and whether the door was open by then. */
const HEARD = `
  import { existsSync } from "node:fs";
  import { syncBuiltinESMExports } from "node:module";
  import v8 from "node:v8";
  const tell = v8.setFlagsFromString;
  v8.setFlagsFromString = (flag) => {
    console.error("told", flag, existsSync(".rota/rota.sock") ? "open" : "closed");
    tell(flag);
  };
  syncBuiltinESMExports();
`;

function heard(): { readonly NODE_OPTIONS: string } {
  const file = join(freshDir(), "heard.mjs");
  writeFileSync(file, HEARD);
  return { NODE_OPTIONS: `--disable-warning=ExperimentalWarning --import ${file}` };
}
const toldIn = (text: string): string[] => text.split("\n").filter((line) => line.startsWith("told "));

test("the platform compiles soon for a daemon, from when its door is open, and not for a short command", async () => {
  const place = unserved(heard());
  const daemon = await place.serve();
  expect(toldIn(daemon.said.err)).toEqual(Object.entries(SOON).map(([flag, calls]) => `told ${flag}=${calls} open`));
  const { code, err } = await place.start(["workers"], heard()).ended;
  expect([code, toldIn(err)]).toEqual([0, []]);
});

test("it compiles late for what is over with its plan", async () => {
  const cwd = freshDir();
  writeFileSync(join(cwd, "plan.yaml"), "name: plan\ntasks: { one: { run: 'true' } }\n");
  const { code, err } = await spawnRota(["run", "plan.yaml"], { cwd, env: heard() });
  expect(code).toBe(0);
  expect(toldIn(err)).toEqual(Object.entries(LATE).map(([flag, calls]) => `told ${flag}=${calls} closed`));
});
