/** The bridge as a program of its own: `node main.js ORDER.json`, with the prompt on standard input. */
import { readFileSync, writeSync } from "node:fs";
import { systemClock } from "../../effects/clock.ts";
import { bridge } from "./bridge.ts";
import type { BridgeOrder } from "./order.ts";

const [orderFile = ""] = process.argv.slice(2);
const order = JSON.parse(readFileSync(orderFile, "utf8")) as BridgeOrder;
const ending = new AbortController();
for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => ending.abort());

process.exitCode = await bridge({
  order,
  orderFile,
  prompt: readFileSync(0, "utf8"),
  directory: process.cwd(),
  clock: systemClock(),
  print: (event) => writeSync(1, `${JSON.stringify(event)}\n`),
  signal: ending.signal,
});
