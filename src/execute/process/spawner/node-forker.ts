/** Forks from this very program. Works wherever Node does; `perl-forker.ts` is quicker where it works. */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, mkdirSync, openSync } from "node:fs";
import { setPriority } from "node:os";
import { dirname } from "node:path";
import { childIdentity } from "../../../effects/host.ts";
import { explainLog, explainStart } from "./explain.ts";
import { argvOf, type Forker, type Launched, type LaunchOrder, type LaunchWatch, LOG_FLAGS } from "./forker.ts";
import { Reaper } from "./reaper.ts";

export function openNodeForker(): Forker {
  const reaper = new Reaper();
  return {
    launch(order, watch) {
      launch(order, watch, reaper);
      return { ...UNKEPT, go() {} };
    },
    prepare: (order, watch) => ({ ...UNKEPT, go: () => launch(order, watch, reaper) }),
    whenReady: (then) => then(),
    leave() {},
  };
}

/** What ends with this program has no successor, and what is prepared is not begun yet. */
const UNKEPT: Pick<Launched, "note" | "drop"> = { note() {}, drop() {} };

function launch(order: LaunchOrder, watch: LaunchWatch, reaper: Reaper): void {
  const { cwd, env, log: path, nice } = order;
  const [file, ...args] = argvOf(order);
  let log: number | undefined;
  let child: ChildProcess;
  try {
    log = openLog(path);
    // A group and a session of its own: signals reach all of it, and none meant for the terminal does.
    child = spawn(file, args, { cwd, env, stdio: ["ignore", log, log], detached: true });
  } catch (error) {
    watch.failed(log === undefined ? explainLog(path, codeOf(error)) : explain(file, cwd, error));
    return;
  } finally {
    if (log !== undefined) closeSync(log);
  }
  child.on("error", (error) => watch.failed(explain(file, cwd, error)));
  child.on("exit", (code, signal) => {
    const reaped = (cpuMs: number | undefined): void =>
      watch.exited({ code, signal, ...(cpuMs !== undefined && { cpuMs }) });
    reaper.exited({ seenCpuMs: watch.seenCpuMs, reaped });
  });
  const { pid } = child;
  if (pid === undefined) return;
  if (nice !== 0) makeNice(pid, nice);
  watch.started(pid, childIdentity(pid));
}

function openLog(path: string): number {
  try {
    return openSync(path, LOG_FLAGS, 0o600);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    return openSync(path, LOG_FLAGS, 0o600);
  }
}

/** A wish, not a promise: where it is refused the task runs as it is. */
function makeNice(pid: number, nice: number): void {
  try {
    setPriority(pid, nice);
  } catch {}
}

const explain = (file: string, cwd: string, error: unknown) =>
  explainStart(file, cwd, codeOf(error), error instanceof Error ? error.message : undefined);
const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? "unknown";
