/**
 * `npm run bench -- NAME [--json] [--save]` runs one benchmark; `npm run bench -- report` writes the tables of README.md from what
 * was saved. Peers and ours in the same run, because only ratios travel between machines.
 */
import { parseArgs } from "node:util";
import { saveResult, writeTables } from "./results/tables.ts";
import type { Bench } from "./rig.ts";
import { printReport } from "./rig.ts";

const BENCHES: Readonly<Record<string, () => Promise<{ readonly bench: Bench }>>> = {
  daemon: () => import("./daemon/bench.ts"),
  decide: () => import("./decide/bench.ts"),
  engine: () => import("./engine/bench.ts"),
  fairness: () => import("./fairness/bench.ts"),
  peers: () => import("./peers/bench.ts"),
  processes: () => import("./processes/bench.ts"),
  quality: () => import("./quality/bench.ts"),
  startup: () => import("./startup/bench.ts"),
};

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: "boolean", default: false },
    quick: { type: "boolean", default: false },
    data: { type: "string" },
    save: { type: "boolean", default: false },
  },
});

const name = positionals[0] ?? "";
if (name === "report") {
  writeTables(Object.keys(BENCHES));
  process.exit(0);
}
const load = BENCHES[name];
if (load === undefined) {
  process.stderr.write(`There is no benchmark "${name}". There are: ${Object.keys(BENCHES).join(", ")}\n`);
  process.exit(2);
}
const { bench } = await load();
const report = await bench({ quick: values.quick, ...(values.data !== undefined && { data: values.data }) });
if (values.save) saveResult(name, report);
if (values.json) process.stdout.write(`${JSON.stringify({ bench: name, ...report })}\n`);
else printReport(name, report);
