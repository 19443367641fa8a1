/** Every driver over the scripted agent. */
import { fileURLToPath } from "node:url";
import { DIALECTS, type DialectName } from "../../test/rig/agent/dialects.ts";
import { driverConformance } from "./conformance.ts";
import { DRIVER_OF } from "./drivers.ts";

const AGENT = fileURLToPath(new URL("../../test/rig/agent/agent.ts", import.meta.url));
const ACP_AGENT = fileURLToPath(new URL("../../test/rig/agent/acp.ts", import.meta.url));
const BRIDGE = fileURLToPath(new URL("bridge/main.ts", import.meta.url));
const NODE = [process.execPath, "--disable-warning=ExperimentalWarning"] as const;
/** Programs that say nothing of a tool that they did not run. */
const SILENT: readonly DialectName[] = ["gemini", "kimi", "command"];

for (const name of Object.keys(DIALECTS) as DialectName[]) {
  driverConformance({
    driver: DRIVER_OF[name],
    argv: [...NODE, AGENT, name],
    tellsDenials: !SILENT.includes(name),
  });
}

driverConformance({
  driver: DRIVER_OF.acp,
  argv: [...NODE, ACP_AGENT],
  bridge: [...NODE, BRIDGE],
  tellsDenials: true,
});
