/** All drivers, by the name that a plan gives them. */
import { acp } from "./acp/driver.ts";
import { claude } from "./claude/driver.ts";
import { codex } from "./codex/driver.ts";
import { command } from "./command/driver.ts";
import type { Driver, DriverName } from "./driver.ts";
import { gemini } from "./gemini/driver.ts";
import { kimi } from "./kimi/driver.ts";

export const DRIVER_OF: Readonly<Record<DriverName, Driver>> = { claude, codex, gemini, acp, kimi, command };
