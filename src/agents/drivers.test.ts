/** Every driver over the scripted agent. */
import { fileURLToPath } from "node:url";
import { DIALECTS, type DialectName } from "../../test/rig/agent/dialects.ts";
import { driverConformance } from "./conformance.ts";
import { DRIVER_OF } from "./drivers.ts";

const AGENT = fileURLToPath(new URL("../../test/rig/agent/agent.ts", import.meta.url));
/** Programs that say nothing of a tool that they did not run. */
const SILENT: readonly DialectName[] = ["gemini", "kimi", "command"];

for (const name of Object.keys(DIALECTS) as DialectName[]) {
  driverConformance({
    driver: DRIVER_OF[name],
    argv: [process.execPath, "--disable-warning=ExperimentalWarning", AGENT, name],
    tellsDenials: !SILENT.includes(name),
  });
}
