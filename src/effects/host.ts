/** Which processes live on this machine, and whether a process is still the one with this identity. Reads /proc; elsewhere it asks `ps`. */
import { closeSync, openSync, readdirSync, readSync } from "node:fs";
import { hostname } from "node:os";
import type { ProcessIdentity } from "../domain/task.ts";

export interface ProcessStat {
  readonly pid: number;
  /** The process group it belongs to. */
  readonly group: number;
  /** It has ended and only waits for its parent to reap it. */
  readonly zombie: boolean;
  readonly startTime: string;
  /** User and system time so far, with that of children it waited for. Absent where it cannot be known. */
  readonly cpuMs?: number;
}

const LINUX = process.platform === "linux";
/** What the kernel counts processor time in, for programs: 100 a second on every Linux. */
const TICK_MS = 10;

let boot: string | undefined;

/** Names this start of the machine: pids from another one mean nothing. */
export function bootId(): string {
  boot ??= LINUX ? (textOf("/proc/sys/kernel/random/boot_id")?.trim() ?? hostname()) : bootTime();
  return boot;
}

const bootTime = (): string => psLine(["-o", "lstart=", "-p", "1"]) ?? hostname();

/** Nothing when there is no such process, or it has ended and is only waiting to be reaped. */
export function processIdentity(pid: number): ProcessIdentity | undefined {
  const stat = processStat(pid);
  return stat === undefined || stat.zombie ? undefined : { pid, startTime: stat.startTime, bootId: bootId() };
}

export function ownIdentity(): ProcessIdentity {
  return processIdentity(process.pid) ?? { pid: process.pid, startTime: "", bootId: bootId() };
}

/** The very same process still runs: not a zombie, not another one with its number, not one of an earlier boot. */
export function isAlive(identity: ProcessIdentity): boolean {
  if (identity.bootId !== bootId()) return false;
  return processIdentity(identity.pid)?.startTime === identity.startTime;
}

/** One process, zombies included. */
export function processStat(pid: number): ProcessStat | undefined {
  if (!LINUX) return parsePs(psLine([...PS_COLUMNS, "-p", String(pid)]));
  const text = textOf(`/proc/${pid}/stat`);
  return text === undefined ? undefined : parseStat(text);
}

/** Whether this process may speak with its terminal: one in the background is stopped for trying. */
export function isForeground(): boolean {
  const text = LINUX ? textOf("/proc/self/stat") : undefined;
  const groups = LINUX
    ? text?.slice(text.lastIndexOf(")") + 2).split(" ")
    : psLine(["-o", "state=,ppid=,pgid=,sess=,tty=,tpgid=", "-p", String(process.pid)])
        ?.trim()
        .split(/\s+/);
  return groups?.[2] !== undefined && groups[2] === groups[5];
}

/** Every process of the machine. Costs about 10 µs each: for ticks, never once per task. */
export function listProcesses(): readonly ProcessStat[] {
  const found: ProcessStat[] = [];
  if (LINUX) {
    for (const pid of pids()) {
      const stat = processStat(pid);
      if (stat !== undefined) found.push(stat);
    }
    return found;
  }
  for (const line of psLines(["-ax", ...PS_COLUMNS])) {
    const stat = parsePs(line);
    if (stat !== undefined) found.push(stat);
  }
  return found;
}

/**
 * Living processes that were started with `mark` (a whole `NAME=value`) in their environment, with that environment.
 * Finds nothing where environments cannot be read: other users' processes, systems without /proc.
 */
export function markedProcesses(mark: string): readonly { pid: number; environment: readonly string[] }[] {
  if (!LINUX) return [];
  const found: { pid: number; environment: readonly string[] }[] = [];
  for (const pid of pids()) {
    const bytes = bytesOf(`/proc/${pid}/environ`);
    // Nearly all processes belong to other programs, and need not be decoded.
    if (bytes?.includes(mark, 0, "latin1") !== true) continue;
    const environment = bytes.toString("latin1").split("\0");
    if (environment.includes(mark)) found.push({ pid, environment });
  }
  return found;
}

/** The environments that the processes above this one were started with, from its parent up, as far as they can be read. */
export function* environmentsAbove(pid: number): Iterable<readonly string[]> {
  if (!LINUX) return;
  for (let parent = parentOf(pid); parent !== undefined && parent > 1; parent = parentOf(parent)) {
    yield bytesOf(`/proc/${parent}/environ`)?.toString("latin1").split("\0") ?? [];
  }
}

/** The process that started it, or that took it over when that one had ended. Nothing where this cannot be read. */
export function parentOf(pid: number): number | undefined {
  const text = LINUX ? textOf(`/proc/${pid}/stat`) : undefined;
  return text === undefined ? undefined : Number(text.slice(text.lastIndexOf(")") + 2).split(" ")[1]);
}

/** Memory of one process in bytes: what it holds now, and the most it ever held. */
export function memoryOf(pid: number): { readonly resident: number; readonly peak: number } | undefined {
  const text = LINUX ? textOf(`/proc/${pid}/status`) : undefined;
  const resident = text === undefined ? undefined : kilobytes(text, "VmRSS");
  if (text === undefined || resident === undefined) return undefined;
  return { resident, peak: kilobytes(text, "VmHWM") ?? resident };
}

/** The memory of one process in bytes. Of a page that several processes share only a share is counted. Slower than `memoryOf`. */
export function fairMemoryOf(pid: number): number | undefined {
  const text = LINUX ? textOf(`/proc/${pid}/smaps_rollup`) : undefined;
  return text === undefined ? undefined : kilobytes(text, "Pss");
}

function pids(): number[] {
  const found: number[] = [];
  for (const name of readdirSync("/proc")) {
    const pid = Number(name);
    if (pid > 0) found.push(pid);
  }
  return found;
}

/** The name in parentheses may itself hold spaces and parentheses, so the fields are counted from the last one. */
function parseStat(text: string): ProcessStat | undefined {
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const startTime = fields[19];
  if (startTime === undefined) return undefined;
  const ticks = Number(fields[11]) + Number(fields[12]) + Number(fields[13]) + Number(fields[14]);
  return {
    pid: Number.parseInt(text, 10),
    group: Number(fields[2]),
    zombie: fields[0] === "Z" || fields[0] === "X",
    startTime,
    cpuMs: ticks * TICK_MS,
  };
}

const PS_COLUMNS = ["-o", "pid=,pgid=,state=,lstart="] as const;

function parsePs(line: string | undefined): ProcessStat | undefined {
  const match = line === undefined ? null : /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(.+?)\s*$/.exec(line);
  if (match === null) return undefined;
  const [, pid, group, state, startTime] = match as unknown as [string, string, string, string, string];
  return { pid: Number(pid), group: Number(group), zombie: state.startsWith("Z"), startTime };
}

const psLine = (options: readonly string[]): string | undefined => psLines(options)[0];

function psLines(options: readonly string[]): string[] {
  try {
    // Loaded where there is no /proc only: most commands ask for a process, and none of them starts one.
    const text = process.getBuiltinModule("node:child_process").execFileSync("ps", options, {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
      env: { LC_ALL: "C" },
    });
    return text.split("\n").filter((line) => line.trim() !== "");
  } catch {
    return [];
  }
}

function kilobytes(text: string, name: string): number | undefined {
  const match = new RegExp(`^${name}:\\s*(\\d+) kB`, "m").exec(text);
  return match === null ? undefined : Number(match[1]) * 1024;
}

/** One buffer for all reads: these files are small, are read whole in one call, and are read often. */
const buffer = Buffer.allocUnsafeSlow(256 * 1024);

const textOf = (path: string): string | undefined => bytesOf(path)?.toString("latin1");

/** Processes come and go meanwhile: a process that cannot be read counts as absent. The bytes are valid until the next read. */
function bytesOf(path: string): Buffer | undefined {
  // The stack of this error is never read, and recording it is most of what looking at another user's process costs.
  const depth = Error.stackTraceLimit;
  Error.stackTraceLimit = 0;
  let file: number | undefined;
  try {
    file = openSync(path, "r");
    return buffer.subarray(0, readSync(file, buffer, 0, buffer.length, null));
  } catch {
    return undefined;
  } finally {
    Error.stackTraceLimit = depth;
    if (file !== undefined) closeSync(file);
  }
}
