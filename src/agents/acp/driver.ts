/** Any agent that speaks the Agent Client Protocol, with a bridge between: the bridge prints our own vocabulary. */

import type { BridgeOrder } from "../bridge/order.ts";
import type { AgentOrder, Driver, Start } from "../driver.ts";
import { BridgeReader } from "./read.ts";

export const acp: Driver = {
  name: "acp",
  program: { command: undefined, version: ["--version"], env: [] },
  features: {
    asks: true,
    resumes: "same-directory",
    mcp: true,
    schema: false,
    model: true,
    effort: false,
    endsTurns: true,
    tokens: false,
  },
  start,
  open: () => new BridgeReader(),
};

/** What the bridge has to know stands in a file, since it is more than an argument should hold. */
function start(order: AgentOrder): Start {
  const { argv, mcp, model, permissions, resume, before } = order;
  const told: BridgeOrder = {
    argv,
    permissions,
    ...(mcp !== undefined && { mcp }),
    ...(model !== undefined && { model }),
    ...(resume !== undefined && { resume }),
    ...(before !== undefined && { before }),
  };
  return {
    argv: [...order.bridge, `${order.files}/bridge.json`],
    env: {},
    stdin: "prompt",
    files: { "bridge.json": JSON.stringify(told) },
  };
}
