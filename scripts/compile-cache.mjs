/**
 * `node scripts/compile-cache.mjs DIST`: writes the compile cache, which is what Node has compiled of the program once it has run a plan and looked
 * at it, so that no start compiles that again. Called by the build, with the Node that is to run the program: another one finds nothing that it can use, and does without.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import v8 from "node:v8";
import { Script } from "node:vm";

const dist = resolve(process.argv[2] ?? "dist");
const bundle = pathToFileURL(join(dist, "cli/bundle/")).href;
const own = (path) => import(pathToFileURL(join(dist, "cli", path)).href);
const { PARTS, taken, bodyOf, cacheOf } = await own("compile-cache.js");

/** Some tasks are independent, some are not, and a failing task is tried again. */
const PLAN = {
  name: "compile-cache",
  tasks: {
    ...Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`t${index}`, { run: ["true"] }])),
    after: { run: "true", needs: ["t0", "t1"] },
    tried: { run: ["false"], retry: { attempts: 2, backoff: "1ms" } },
  },
};

/** How a run ends of which something failed. */
const FAILED = 1;

// A run changes settings of the engine once it is loaded. The cache is for the settings under which it is loaded.
v8.setFlagsFromString = () => {};
for (const name of PARTS) save(name, new Script(readFileSync(bodyOf(name, bundle), "latin1")));
await tryOut();
for (const [name, script] of taken) save(name, script);

function save(name, script) {
  writeFileSync(cacheOf(name, bundle), script.createCachedData());
}

async function tryOut() {
  const place = mkdtempSync(join(tmpdir(), "rota-build-"));
  try {
    writeFileSync(join(place, "plan.json"), JSON.stringify(PLAN));
    const { runProgram } = await own("program.js");
    const terminal = {
      out() {},
      err() {},
      interactive: false,
      color: false,
      columns: 100,
      rows: 30,
      flush: async () => {},
    };
    const context = { terminal: { ...terminal, gone: new AbortController().signal }, env: process.env, cwd: place };
    const state = ["--state", join(place, "state")];
    for (const command of [["run", "plan.json"], ["run", "plan.json", "--json"], ["status"]]) {
      const code = await runProgram([...command, ...state], context);
      if (code > FAILED) throw new Error(`\`rota ${command.join(" ")}\` ended with ${code}`);
    }
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}
