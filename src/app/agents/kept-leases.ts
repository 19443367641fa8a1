/**
 * Leases that sessions on this machine hold through the command line, each in a private file of its own: a report names only the task,
 * and the token is in no argument. Every session has its own folder, so a session that has lost a task cannot report with the lease of
 * the session that has it now.
 */
import {
  closeSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { UserError } from "../../domain/errors.ts";
import { isId } from "../../domain/ids.ts";
import { SESSION_TTL_MAX } from "../../domain/sessions/session.ts";
import type { Instant } from "../../domain/time.ts";
import { type Clock, systemClock } from "../../effects/clock.ts";
import { makeFolders } from "../../effects/folders.ts";
import { hashToken } from "../../effects/random.ts";
import { Problems } from "../../std/problems.ts";
import { type Infer, integer, string } from "../../std/schema.ts";
import { object } from "../../std/schema-maps.ts";

const words = (max: number) => string({ min: 1, max });
const LEASE = object({
  session: words(128),
  run: words(128),
  task: words(128),
  fence: integer({ min: 1 }),
  token: words(256),
  deadline: words(64),
});
export type KeptLease = Infer<typeof LEASE>;

/** Which lease a command names. */
export interface LeaseSought {
  readonly task: string;
  /** Its id, or the start of it. */
  readonly run?: string | undefined;
  readonly session?: string | undefined;
  readonly fence?: number | undefined;
}

const PRIVATE_FILE = 0o600;
/** No lease lives that long without a renewal, which writes its file again. */
const STALE_MS = 2 * SESSION_TTL_MAX;

/** Replaces an older lease of the task in this session. Written whole or not at all. */
export function keepLease(root: string, lease: KeptLease): void {
  const folder = join(folderOf(root, lease.session), lease.run);
  const file = join(folder, `${lease.task}.json`);
  const draft = `${file}.${process.pid}`;
  try {
    makeFolders(folder);
    writeFileSync(draft, `${JSON.stringify(lease)}\n`, { mode: PRIVATE_FILE });
    renameSync(draft, file);
  } catch (error) {
    throw new UserError("STATE_UNUSABLE", `${file} cannot be written: ${(error as Error).message}`, { cause: error });
  }
}

/**
 * Writes the new deadline into the existing file of a lease, and does not replace the file: a report of the end at the same moment has
 * removed the file, and it must not come back. Only the deadline changes, and its length does not.
 */
export function renewKept(root: string, lease: KeptLease): void {
  const file = join(folderOf(root, lease.session), lease.run, `${lease.task}.json`);
  try {
    const descriptor = openSync(file, "r+");
    try {
      if (readLease(descriptor)?.fence === lease.fence) writeSync(descriptor, `${JSON.stringify(lease)}\n`, 0);
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT")
      throw new UserError("STATE_UNUSABLE", `${file} cannot be written: ${(error as Error).message}`, { cause: error });
  }
}

/** The lease that the command names. If several could be meant, it is an error. */
export function findLease(root: string, sought: LeaseSought): KeptLease {
  const found = isId(sought.task) ? leasesOf(root, sought) : [];
  const [lease, ...others] = found.filter(({ fence }) => sought.fence === undefined || fence === sought.fence);
  if (lease !== undefined && others.length === 0) return lease;
  if (lease !== undefined) {
    const names = [lease, ...others].map(({ session, run }) => `session ${session} in run ${run}`);
    throw new UserError("LEASE_UNKNOWN", `Several leases of ${sought.task} are kept here: ${names.join(", ")}`, {
      hint: "Say which with --session or --run.",
    });
  }
  const [other] = found;
  if (other === undefined) throw new UserError("LEASE_UNKNOWN", `No lease of ${sought.task} is kept here`);
  throw new UserError(
    "LEASE_LOST",
    `Claim ${sought.fence} of ${sought.task} in run ${other.run} is over: claim ${other.fence} has it now`,
  );
}

/** Removes the lease, unless another claim has replaced it. */
export function dropLease(root: string, lease: KeptLease): void {
  const file = join(folderOf(root, lease.session), lease.run, `${lease.task}.json`);
  if (readLease(file)?.fence === lease.fence) rmSync(file, { force: true });
}

/** Whether the lease still has its file: the report of its end removes it. */
export const isKept = (root: string, lease: KeptLease): boolean =>
  readLease(join(folderOf(root, lease.session), lease.run, `${lease.task}.json`))?.fence === lease.fence;

/** The session is gone, with all its leases. */
export function dropSession(root: string, session: string): void {
  rmSync(folderOf(root, session), { recursive: true, force: true });
}

/** Removes folders of sessions that have only old files. */
export function dropStale(root: string, clock: Clock = systemClock()): void {
  const now = clock.now();
  const all = join(root, FOLDER);
  for (const name of entriesOf(all)) {
    const folder = join(all, name);
    const files = entriesOf(folder, { recursive: true }).map((path) => join(folder, path));
    if ([folder, ...files].every((path) => isOlder(path, now))) rmSync(folder, { recursive: true, force: true });
  }
}

const FOLDER = "leases";

/** A session may have any name; a name that is no good for a folder is replaced by its hash. */
const folderOf = (root: string, session: string): string =>
  join(root, FOLDER, isId(session) ? session : `~${hashToken(session)}`);

function leasesOf(root: string, { task, run, session }: LeaseSought): readonly KeptLease[] {
  const folders =
    session === undefined
      ? entriesOf(join(root, FOLDER)).map((name) => join(root, FOLDER, name))
      : [folderOf(root, session)];
  return folders.flatMap((folder) =>
    entriesOf(folder)
      .filter((name) => run === undefined || name.startsWith(run))
      .flatMap((name) => readLease(join(folder, name, `${task}.json`)) ?? []),
  );
}

/** A file that cannot be read as a lease counts as missing. */
function readLease(file: string | number): KeptLease | undefined {
  try {
    return LEASE.read(JSON.parse(readFileSync(file, "utf8")), new Problems(String(file)));
  } catch {
    return undefined;
  }
}

function entriesOf(folder: string, options: { readonly recursive?: true } = {}): readonly string[] {
  try {
    return readdirSync(folder, { encoding: "utf8", ...options });
  } catch {
    return [];
  }
}

function isOlder(path: string, now: Instant): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  return found === undefined || now - found.mtimeMs > STALE_MS;
}
