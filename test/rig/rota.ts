/** The built program as a user has it: started, fed, killed and asked, with a state directory of its own. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const BIN = fileURLToPath(new URL("../../bin/rota", import.meta.url));

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly out: string;
  readonly err: string;
}

export interface Started {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  /** Everything on stdout so far. */
  readonly out: () => string;
  readonly err: () => string;
}

export interface Place extends Disposable {
  readonly dir: string;
  file(name: string, text: string): string;
  read(name: string): string;
  start(args: readonly string[], env?: Readonly<Record<string, string>>): Started;
  rota(args: readonly string[], env?: Readonly<Record<string, string>>): Promise<Ended>;
}

/** A directory for one test; everything in it is gone afterwards. */
export function openPlace(): Place {
  const dir = mkdtempSync(join(tmpdir(), "rota-e2e-"));
  const start = (args: readonly string[], env: Readonly<Record<string, string>> = {}): Started => {
    const { ROTA_STATE: _, ...clean } = process.env;
    const child = spawn(BIN, [...args], {
      cwd: dir,
      // As for a user who has it on the path: that is how commands are then printed.
      env: { ...clean, NO_COLOR: "1", PATH: `${dirname(BIN)}:${clean["PATH"]}`, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let out = "";
    let err = "";
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      out += chunk;
    });
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
      err += chunk;
    });
    const ended = new Promise<Ended>((resolve, reject) => {
      child.on("error", reject);
      child.on("close", (code, signal) => resolve({ code, signal, out, err }));
    });
    return { child, ended, out: () => out, err: () => err };
  };
  return {
    dir,
    file(name, text) {
      writeFileSync(join(dir, name), text);
      return name;
    },
    read: (name) => readFileSync(join(dir, name), "utf8"),
    start,
    rota: (args, env) => start(args, env).ended,
    [Symbol.dispose]: () => rmSync(dir, { recursive: true, force: true, maxRetries: 5 }),
  };
}

export const lastJson = <T>({ out }: Ended): T => JSON.parse(out.trim().split("\n").at(-1) as string) as T;
export const jsonLines = <T>({ out }: Ended): readonly T[] =>
  out
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as T);

/** Pids of living processes whose environment has this `NAME=value`. */
export function processesWith(mark: string): readonly number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/environ`, "utf8").split("\0").includes(mark);
      } catch {
        return false;
      }
    })
    .map(Number);
}

/** Living processes that work in the directory or below it, or name it on their command line. */
export function processesIn(dir: string): readonly string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim();
        const isHere = command.includes(dir) || readlinkSync(`/proc/${pid}/cwd`).startsWith(dir);
        return isHere && command !== "" ? [`${pid} ${command}`] : [];
      } catch {
        return [];
      }
    });
}

/** Waits for something to become true, looking often; what never does fails with its name. */
export async function until(what: string, holds: () => boolean | Promise<boolean>, withinMs = 60_000): Promise<void> {
  const end = performance.now() + withinMs;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`never: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Whether the process has a file of this name open. */
export function opens(pid: number, name: string): boolean {
  try {
    return readdirSync(`/proc/${pid}/fd`).some((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`).endsWith(name));
  } catch {
    return false;
  }
}

/** The process that this one has started. */
export function childOf(pid: number): number {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
  return Number(text.split(" ")[0]);
}
