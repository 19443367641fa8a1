/** Starts a spawner and connects to it. Nothing here waits: what is said before it listens is read when it does. */
import { type SpawnOptions, spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { getCompileCacheDir } from "node:module";
import { Socket } from "node:net";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { bootId } from "../../effects/host.ts";
import { overSocket, withinProgram } from "./channel.ts";
import { endsFile, errorsFile, recordFile, type StateIdentity, socketPathFor } from "./files.ts";
import { Link, type Lost } from "./link.ts";
import { type FromSpawner, type Hello, parseFromSpawner, type ToSpawner } from "./messages.ts";
import { Ends } from "./spawner/ends.ts";
import { LOG_FLAGS } from "./spawner/forker.ts";
import { PerlForker } from "./spawner/perl-forker.ts";
import { Spawner } from "./spawner/spawner.ts";

export interface LaunchSetup {
  readonly directory: string;
  /** Names the spawner. */
  readonly id: string;
  readonly identity: StateIdentity;
  readonly hello: Hello;
  readonly perl: string;
  readonly lost: Lost;
}

/** Small from the start: forking costs by the memory of the one who forks. */
const FLAGS = [
  "--max-old-space-size=128",
  "--max-semi-space-size=1",
  "--v8-pool-size=0",
  "--disable-warning=ExperimentalWarning",
];

/** The source when this runs from source, the built file when this was built. */
const program = (name: string): string =>
  fileURLToPath(new URL(`./spawner/${name}${extname(fileURLToPath(import.meta.url))}`, import.meta.url));

/** A spawner in a process of its own, which forks by itself. Works wherever Node does. */
export function launchSpawner({ directory, id, hello, lost }: LaunchSetup): Link {
  const socket = startProgram(
    process.execPath,
    [...FLAGS, program("main"), directory, id, String(process.pid)],
    directory,
  );
  return new Link(id, overSocket(socket, parseFromSpawner), hello, lost);
}

/** What the calls that Perl has no word for, or only a slow one, are known by where they are named alike. */
const GENERIC_CALLS = {
  wait4: 260,
  clock_gettime: 113,
  openat: 56,
  read: 63,
  close: 57,
  fcntl: 25,
  renameat2: 276,
  clone: 220,
  execve: 221,
  dup3: 24,
  chdir: 49,
  setsid: 157,
  sigprocmask: 135,
  sigtimedwait: 137,
} as const;

const CALLS: Readonly<Partial<Record<NodeJS.Architecture, Readonly<Record<keyof typeof GENERIC_CALLS, number>>>>> = {
  x64: {
    wait4: 61,
    clock_gettime: 228,
    openat: 257,
    read: 0,
    close: 3,
    fcntl: 72,
    renameat2: 316,
    clone: 56,
    execve: 59,
    dup3: 292,
    chdir: 80,
    setsid: 112,
    sigprocmask: 14,
    sigtimedwait: 128,
  },
  arm64: GENERIC_CALLS,
  riscv64: GENERIC_CALLS,
};

/** Whether it is worth trying. Whether it works is then learned from its answer. */
export const canFork = (): boolean => process.platform === "linux" && CALLS[process.arch] !== undefined;

/**
 * A spawner within this program, whose forks are made by a forker: the quickest way there is. When this program dies, the forker
 * has a keeper started that goes on where it stopped.
 */
export function launchForker({ directory, id, identity, hello, perl, lost }: LaunchSetup): Link {
  const numbers = Object.entries({ ...CALLS[process.arch], logFlags: LOG_FLAGS })
    .map((pair) => pair.join("="))
    .join(",");
  const path = socketPathFor(directory, id);
  const about = `"id":${JSON.stringify(id)},"socket":${JSON.stringify(path)}\n"bootId":${JSON.stringify(bootId())}`;
  const keeper = [process.execPath, ...FLAGS, program("keeper"), directory, id];
  const script = fileURLToPath(new URL("./spawner/forker.pl", import.meta.url));
  const args = [script, numbers, recordFile(directory, id), about, path, String(process.pid), ...keeper];
  const forker = new PerlForker(
    startProgram(perl, args, directory),
    {
      resign: () => spawner.resign(),
      replaced: () => spawner.forsake(true),
      gone: () => spawner.forsake(false),
      orphaned() {},
      taken() {},
    },
    "own",
  );
  const ends = new Ends(endsFile(directory, id));
  // The forker itself has a start wait for its end.
  const spawner = new Spawner({ identity, ends, forker, leave: () => forker.leave(), patienceMs: 0 });
  const { settings, environment } = hello;
  forker.hello(JSON.stringify({ settings, environment }));
  const [here, there] = withinProgram<FromSpawner, ToSpawner>();
  spawner.accept(there, "self");
  const link = new Link(id, here, hello, lost);
  link.prepare = (order, ahead) => spawner.prepare(order, ahead);
  link.forgo = (key) => spawner.forgo(key);
  return link;
}

/** The other end of its descriptor 3. A program that cannot be started ends the talk before it began. */
function startProgram(file: string, args: readonly string[], directory: string): Socket {
  const errors = openSync(errorsFile(directory), "a", 0o600);
  const stdio: SpawnOptions["stdio"] = ["ignore", "ignore", errors, "pipe"];
  try {
    const child = spawn(file, args, { detached: true, cwd: "/", env: ownEnvironment(directory), stdio });
    child.unref();
    const socket = child.stdio[3] as Socket | null | undefined;
    child.on("error", () => socket?.destroy());
    return socket ?? brokenSocket();
  } catch {
    return brokenSocket();
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
