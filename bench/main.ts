/** `npm run bench -- NAME [--json]`: runs one benchmark. Peers and ours in the same run, because only ratios travel between machines. */
import { parseArgs } from "node:util";
import type { Bench } from "./rig.ts";
import { printReport } from "./rig.ts";

const BENCHES: Readonly<Record<string, () => Promise<{ readonly bench: Bench }>>> = {
  engine: () => import("./engine/bench.ts"),
  processes: () => import("./processes/bench.ts"),
};

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: "boolean", default: false },
    quick: { type: "boolean", default: false },
    data: { type: "string" },
  },
});

const name = positionals[0] ?? "";
const load = BENCHES[name];
if (load === undefined) {
  process.stderr.write(`There is no benchmark "${name}". There are: ${Object.keys(BENCHES).join(", ")}\n`);
  process.exit(2);
}
const { bench } = await load();
const report = await bench({ quick: values.quick, ...(values.data !== undefined && { data: values.data }) });
if (values.json) process.stdout.write(`${JSON.stringify({ bench: name, ...report })}\n`);
else printReport(name, report);
