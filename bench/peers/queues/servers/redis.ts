/** Redis from the machine, or else from Debian's packages unpacked aside; on a Unix socket, with an append-only file. */
import { execFileSync } from "node:child_process";
import { existsSync, globSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { endServer, reasonOf, type Startable, startServer } from "./started.ts";

/** The server is in `redis-tools`; the others are libraries it needs. */
const PACKAGES = ["redis-server", "redis-tools", "liblzf1", "libjemalloc2"];
const TIMEOUT_MS = 120_000;

export type Fsync = "everysec" | "always";

interface Program {
  readonly file: string;
  readonly env: Readonly<Record<string, string>>;
}

/** `programs`: where packages are unpacked, once for all servers of a run. */
export async function startRedis(directory: string, fsync: Fsync, programs: string): Promise<Startable> {
  try {
    const program = findRedis(programs);
    const settings = { appendonly: "yes", appendfsync: fsync, "maxmemory-policy": "noeviction", save: '""' };
    mkdirSync(directory, { recursive: true });
    const socket = join(directory, "redis.sock");
    const given = { port: "0", unixsocket: socket, dir: directory, save: "", daemonize: "no" };
    const options = Object.entries({ ...settings, ...given }).flatMap(([name, value]) => [`--${name}`, value]);
    const child = await startServer({ ...program, args: options, cwd: directory }, () => existsSync(socket));
    return {
      url: socket,
      version: versionOf(program),
      settings,
      [Symbol.asyncDispose]: () => endServer(child, "SIGTERM"),
    };
  } catch (error) {
    return { skipped: `Redis cannot be had: ${reasonOf(error)}` };
  }
}

function findRedis(programs: string): Program {
  const own = { file: "redis-server", env: {} };
  if (canRun(own)) return own;
  const root = join(programs, "redis");
  if (!existsSync(root)) unpack(root);
  const libraries = globSync(join(root, "usr/lib/*-linux-gnu*")).join(":");
  return { file: join(root, "usr/bin/redis-server"), env: { LD_LIBRARY_PATH: libraries } };
}

function unpack(root: string): void {
  mkdirSync(root, { recursive: true });
  process.stderr.write("fetching Redis from Debian's packages …\n");
  const quietly = { cwd: root, stdio: "pipe", timeout: TIMEOUT_MS } as const;
  try {
    execFileSync("apt-get", ["download", ...PACKAGES], quietly);
  } catch {
    // Lists that are too old name versions that are gone.
    execFileSync("apt-get", ["update"], quietly);
    execFileSync("apt-get", ["download", ...PACKAGES], quietly);
  }
  for (const file of globSync(join(root, "*.deb"))) execFileSync("dpkg-deb", ["-x", file, root], quietly);
}

function canRun(program: Program): boolean {
  try {
    versionOf(program);
    return true;
  } catch {
    return false;
  }
}

function versionOf({ file, env }: Program): string {
  const said = execFileSync(file, ["--version"], { encoding: "utf8", env: { ...process.env, ...env }, stdio: "pipe" });
  return `Redis ${/v=(\S+)/.exec(said)?.[1] ?? "of an unknown version"}`;
}
