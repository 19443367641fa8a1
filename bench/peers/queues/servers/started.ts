/** A server that a benchmark starts for its peers: in a process of its own, with data of its own, gone afterwards. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";

export interface Started extends AsyncDisposable {
  readonly url: string;
  readonly version: string;
  /** What is not as the server would have it by itself. */
  readonly settings: Readonly<Record<string, string>>;
}

export type Startable = Started | { readonly skipped: string };

const READY_MS = 30_000;
const LOOK_EVERY_MS = 50;
const END_MS = 10_000;

export interface ServerCommand {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  /** The user to become, where root must not run it. */
  readonly uid?: number;
}

/** Kept once `isReady` is; refused when the server ends before that. */
export async function startServer(
  { file, args, cwd, env, uid }: ServerCommand,
  isReady: () => boolean,
): Promise<ChildProcess> {
  const child = spawn(file, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
    ...(uid !== undefined && { uid, gid: uid }),
  });
  let said = "";
  const hear = (text: Buffer): void => {
    said = (said + text.toString()).slice(-1_000);
  };
  child.stdout.on("data", hear);
  child.stderr.on("data", hear);
  const failed = new Promise<never>((_, reject) => {
    child.once("error", reject);
    child.once("exit", (code) => reject(new Error(`${file} ended with ${code}: ${said}`)));
  });
  failed.catch(() => undefined);
  const until = performance.now() + READY_MS;
  while (!isReady()) {
    if (performance.now() > until) {
      child.kill("SIGKILL");
      throw new Error(`${file} was not ready in time: ${said}`);
    }
    await Promise.race([pause(LOOK_EVERY_MS), failed]);
  }
  return child;
}

export async function endServer(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  child.kill(signal);
  const late = setTimeout(() => child.kill("SIGKILL"), END_MS);
  await gone;
  clearTimeout(late);
}

export const reasonOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).split("\n").join(" ").slice(0, 300);
