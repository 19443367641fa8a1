/** The servers that are measured, each in a process of its own: the daemon as users start it, and the bare HTTP stack. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";

const MAIN = fileURLToPath(new URL("../../dist/cli/main.cjs", import.meta.url));
const PROBE = new URL("./probe.mjs", import.meta.url).href;
const BARE = fileURLToPath(new URL("./bare.mjs", import.meta.url));
const END_MS = 10_000;

export interface Use {
  readonly rss: number;
  readonly heap: number;
  readonly cpuMs: number;
}

export interface Served extends AsyncDisposable {
  readonly socket: string;
  /** What the process uses, after a full collection when asked to. */
  use(collect?: "collect"): Promise<Use>;
}

/** `rota serve` with a fresh state directory, and default settings but for those in `env`. */
export function startDaemon(directory: string, env: NodeJS.ProcessEnv = {}): Promise<Served> {
  mkdirSync(directory, { recursive: true });
  const node = ["--disable-warning=ExperimentalWarning", "--expose-gc", "--import", PROBE];
  const args = [...node, MAIN, "serve", "--json", "--state", join(directory, "state")];
  return served(args, directory, env);
}

export function startBare(directory: string): Promise<Served> {
  mkdirSync(directory, { recursive: true });
  return served(["--import", PROBE, BARE, join(directory, "bare.sock")], directory);
}

/** Kept once the server has said, on the first line of its standard output, where it listens. */
async function served(args: readonly string[], cwd: string, env: NodeJS.ProcessEnv = {}): Promise<Served> {
  const child = spawn(process.execPath, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  let said = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    said = (said + text).slice(-2_000);
  });
  const first = await Promise.race([
    once(createInterface({ input: child.stdout as Readable }), "line"),
    once(child, "exit").then(() => Promise.reject(new Error(`The server did not start: ${said}`))),
  ]);
  const { socket } = JSON.parse(first[0] as string) as { socket: string };
  return {
    socket,
    use: async (collect) => {
      child.send(collect ?? "look");
      return (await once(child, "message"))[0] as Use;
    },
    [Symbol.asyncDispose]: () => end(child),
  };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  child.kill("SIGTERM");
  const late = setTimeout(() => child.kill("SIGKILL"), END_MS);
  await gone;
  clearTimeout(late);
}
