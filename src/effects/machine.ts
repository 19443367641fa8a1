/** What this machine has to give: cores and memory, within the limits set on this process. */
import { readFileSync } from "node:fs";
import { availableParallelism, hostname, totalmem } from "node:os";
import type { Amounts } from "../domain/spec.ts";

export const hostName = hostname;
export const coreCount = availableParallelism;

/** `cpu` in thousandths of a core, `memory` in bytes. */
export function machineCapacity(): Amounts {
  return { cpu: coreCount() * 1_000, memory: Math.min(totalmem(), memoryLimit() ?? totalmem()), gpu: 0 };
}

/** The smallest limit a control group sets, in either version of them. */
function memoryLimit(): number | undefined {
  const files = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
  const limits = files.map(readLimit).filter((limit) => limit !== undefined);
  return limits.length === 0 ? undefined : Math.min(...limits);
}

function readLimit(file: string): number | undefined {
  try {
    const limit = Number(readFileSync(file, "utf8").trim());
    return Number.isSafeInteger(limit) && limit > 0 ? limit : undefined;
  } catch {
    return undefined;
  }
}

/** The memory this process uses, after a garbage collection where the process may ask for one. */
export function memoryInUse(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}
