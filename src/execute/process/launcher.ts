/** Starts a spawner and connects to it. Nothing here waits: what is said before it listens is read when it does. */
import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { getCompileCacheDir } from "node:module";
import { Socket } from "node:net";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Bound } from "./bound.ts";
import { errorsFile } from "./files.ts";
import { Link } from "./link.ts";
import type { Hello } from "./messages.ts";

/** Small from the start: forking costs by the memory of the one who forks. */
const FLAGS = [
  "--max-old-space-size=128",
  "--max-semi-space-size=1",
  "--v8-pool-size=0",
  "--disable-warning=ExperimentalWarning",
];

/** The source when this runs from source, the built file when this was built. */
const program = (): string =>
  fileURLToPath(new URL(`./spawner/main${extname(fileURLToPath(import.meta.url))}`, import.meta.url));

export function launchSpawner(
  directory: string,
  id: string,
  hello: Hello,
  lost: (left: readonly Bound[], replaced: boolean) => void,
): Link {
  const errors = openSync(errorsFile(directory), "a", 0o600);
  try {
    const child = spawn(process.execPath, [...FLAGS, program(), directory, id], {
      detached: true,
      cwd: "/",
      env: ownEnvironment(directory),
      stdio: ["ignore", "ignore", errors, "pipe"],
    });
    child.unref();
    const socket = child.stdio[3] as Socket | null | undefined;
    // A program that cannot be started ends the talk before it began; what was asked of it then counts as lost.
    child.on("error", () => socket?.destroy());
    return new Link(id, socket ?? brokenSocket(), hello, lost);
  } catch {
    return new Link(id, brokenSocket(), hello, lost);
  } finally {
    closeSync(errors);
  }
}

function brokenSocket(): Socket {
  const socket = new Socket();
  queueMicrotask(() => socket.destroy());
  return socket;
}

/**
 * The spawner's own, which never reaches a task. With a compile cache it starts in half the time and, when run from source, in half
 * the memory: the compiler is then not loaded at all.
 */
function ownEnvironment(directory: string): NodeJS.ProcessEnv {
  const { PATH, HOME, TMPDIR, NODE_COMPILE_CACHE } = process.env;
  const cache = NODE_COMPILE_CACHE ?? getCompileCacheDir() ?? join(directory, "compiled");
  const all = { PATH, HOME, TMPDIR, NODE_COMPILE_CACHE: cache, UV_THREADPOOL_SIZE: "1" };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}
