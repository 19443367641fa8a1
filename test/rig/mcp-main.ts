/** The MCP server as a process of its own over a daemon that is made up, for clients that start their servers themselves. */
import { systemClock } from "../../src/effects/clock.ts";
import { planReader } from "../../src/mcp/plan-text.ts";
import { serveStdio } from "../../src/mcp/stdio.ts";
import { fakeDaemon, grant } from "./mcp-daemon.ts";

const daemon = fakeDaemon();
daemon.ready.push(grant());
await serveStdio({
  input: process.stdin,
  output: process.stdout,
  service: daemon.service,
  clock: systemClock(),
  version: "0.0.0",
  directory: process.cwd(),
  readPlan: planReader(process.cwd()),
});
