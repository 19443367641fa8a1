/**
 * The tokens for TCP. The owner's token stands in a file of its own, for the owner's programs to read; of issued tokens only the
 * hashes are kept. A token is `rota_ID_SECRET`: the id says which hash to compare with, so nothing is searched by secret.
 */
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { type Authority, OWNER } from "../domain/authority.ts";
import { UserError } from "../domain/errors.ts";
import { type Instant, instant } from "../domain/time.ts";
import type { Clock } from "../effects/clock.ts";
import { hashToken, isToken, type Secrets } from "../effects/random.ts";
import { Problems } from "../std/problems.ts";
import { type Infer, integer, list, oneOf, string } from "../std/schema.ts";
import { object } from "../std/schema-maps.ts";
import type { IssuedToken, TokenReply } from "../wire/answers.ts";
import { SCOPES, type Scope } from "../wire/scope.ts";
import type { Tokens } from "../wire/service.ts";
import { writePrivately } from "./private-file.ts";

const words = () => string({ min: 1, max: 256 });
const ENTRY = object({
  id: words(),
  name: words(),
  scope: oneOf(SCOPES),
  hash: words(),
  createdAt: integer(),
  expiresAt: integer().optional(),
  revokedAt: integer().optional(),
});
type Entry = Infer<typeof ENTRY>;
const FILE = object({ tokens: list(ENTRY) });

/** How many tokens may be valid at once, and how many refused ones are remembered. */
const TOKENS_MAX = 1_000;
const REFUSED_MAX = 200;
/** The id of the owner's token, and the owner's name. */
const OWNER_NAME = "owner";
/** Names in the ledger that are not tokens: a token with such a name would be taken for them. */
const RESERVED: ReadonlySet<string> = new Set([OWNER_NAME, "admin", "local", "scheduler"]);
/** A token with an unknown id is compared with this hash, so that it takes as long as a known one. */
const UNKNOWN_HASH = hashToken("");

/** The caller that was let in, and what it may do. */
export interface Admission {
  /** The caller's name in the ledger. */
  readonly by: string;
  readonly scope: Scope;
  readonly authority: Authority;
  /** The attempt in which the caller runs, in words. Such a caller may look, and may report on the task that the attempt holds. */
  readonly attempt?: string;
}

/** The owner of the state directory. `by`: the name that the owner gives. */
export const ownerAdmission = (by: string = OWNER_NAME): Admission => ({ by, scope: "admin", authority: OWNER });

export interface TokenKeeper extends Tokens {
  /** The caller that the token belongs to, or what is wrong with the token. */
  find(token: string, now: Instant): Admission | "wrong" | "expired" | "revoked";
  /** Makes the owner's token if there is none yet, and gives the path of its file. */
  ownerFile(): string;
}

interface KeeperOptions {
  readonly state: string;
  readonly clock: Clock;
  readonly secrets: Secrets;
}

export function openTokens({ state, clock, secrets }: KeeperOptions): TokenKeeper {
  const file = join(state, "tokens.json");
  const entries = new Map(readEntries(file).map((entry) => [entry.id, entry]));
  let owner: Entry | undefined;

  const change = (entry: Entry): void => {
    const next = trim([...entries.values()].filter(({ id }) => id !== entry.id).concat(entry), clock.now());
    writePrivately(file, `${JSON.stringify({ tokens: next }, null, 2)}\n`);
    // Only after the write: a change that could not be written has not happened.
    entries.clear();
    for (const each of next) entries.set(each.id, each);
  };

  const unknown = (id: string): UserError => {
    const named = Array.from(entries.values()).filter(({ name, revokedAt }) => name === id && revokedAt === undefined);
    const ids = named.map((entry) => entry.id).join(", ");
    const known = named.length === 0 ? "" : `: a token is revoked by its id, and "${id}" is the name of ${ids}`;
    return new UserError("TOKEN_UNKNOWN", `There is no token with the id "${id}"${known}`);
  };

  return {
    ownerFile() {
      const path = join(state, "token");
      const hash = hashToken(readOwnerToken(path) ?? makeOwnerToken(path, secrets));
      owner = { id: OWNER_NAME, name: OWNER_NAME, scope: "admin", hash, createdAt: clock.now() };
      return path;
    },
    find(token, now) {
      const id = idOf(token);
      const entry = id === OWNER_NAME ? owner : entries.get(id);
      const same = isToken(token, entry?.hash ?? UNKNOWN_HASH);
      if (entry === undefined || !same) return "wrong";
      if (entry.revokedAt !== undefined) return "revoked";
      if (entry.expiresAt !== undefined && entry.expiresAt <= now) return "expired";
      return entry === owner ? ownerAdmission() : admissionOf(entry);
    },
    async issue({ name, scope, expiresMs }) {
      refuseReserved(name);
      const now = clock.now();
      if (countUsable(entries.values(), now) >= TOKENS_MAX) {
        throw new UserError("TOKENS_MANY", `There are ${TOKENS_MAX} tokens already`);
      }
      const id = newId(entries, secrets);
      const token = `rota_${id}_${secrets.token()}`;
      const expiry = expiresMs === undefined ? {} : { expiresAt: now + expiresMs };
      const entry: Entry = { id, name, scope, hash: hashToken(token), createdAt: now, ...expiry };
      change(entry);
      return { ...reply(entry), token } satisfies IssuedToken;
    },
    list: async () => [...entries.values()].map(reply),
    async revoke(id) {
      const entry = entries.get(id);
      if (entry === undefined) throw unknown(id);
      if (entry.revokedAt === undefined) change({ ...entry, revokedAt: clock.now() });
    },
  };
}

/** Names may be given again, ids are not. The ledger has both, and the ownership of a session goes by the id alone. */
function admissionOf({ id, name, scope }: Entry): Admission {
  return { by: `${name} (${id})`, scope, authority: { isAdmin: scope === "admin", token: id } };
}

/** Names that look like a reserved one are refused too, in whatever spelling. */
function refuseReserved(name: string): void {
  const plain = name
    .normalize("NFKC")
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]/gu, "");
  if (!RESERVED.has(plain)) return;
  throw new UserError("REQUEST_INVALID", `"${name}" is no name for a token: the ledger calls others so`, {
    hint: "Name it after the agent, the person or the machine that will use it.",
  });
}

/** The id in `rota_ID_SECRET`; for any other form a text that cannot be an id. */
function idOf(token: string): string {
  const [mark, id] = token.split("_", 2);
  return mark === "rota" ? (id ?? "") : "";
}

function newId(taken: ReadonlyMap<string, unknown>, secrets: Secrets): string {
  for (;;) {
    const id = secrets.suffix();
    if (!taken.has(id)) return id;
  }
}

const isUsable = ({ expiresAt, revokedAt }: Entry, now: Instant): boolean =>
  revokedAt === undefined && (expiresAt === undefined || expiresAt > now);

const countUsable = (entries: Iterable<Entry>, now: Instant): number =>
  [...entries].filter((entry) => isUsable(entry, now)).length;

/** Refused tokens are remembered for a while, so that a program that still uses one is told so and does not count as guessing. */
function trim(entries: readonly Entry[], now: Instant): readonly Entry[] {
  let surplus = entries.length - countUsable(entries, now) - REFUSED_MAX;
  return entries.filter((entry) => isUsable(entry, now) || surplus-- <= 0);
}

const iso = (at: number): string => new Date(instant(at)).toISOString();
const reply = ({ id, name, scope, createdAt, expiresAt, revokedAt }: Entry): TokenReply => ({
  id,
  name,
  scope,
  created_at: iso(createdAt),
  ...(expiresAt !== undefined && { expires_at: iso(expiresAt) }),
  ...(revokedAt !== undefined && { revoked_at: iso(revokedAt) }),
});

function readEntries(file: string): readonly Entry[] {
  const text = textOf(file);
  if (text === undefined) return [];
  const problems = new Problems(file);
  const read = FILE.read(parse(text), problems);
  if (read !== undefined) return read.tokens;
  throw new UserError("STATE_UNUSABLE", `${file} is damaged: ${problems.list[0]?.message}`, {
    hint: "Remove the file: tokens that were issued are refused then, and can be issued again.",
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const OTHERS = 0o077;

/** The owner's token. A file that other users could read is not used: they may know the token. */
function readOwnerToken(path: string): string | undefined {
  const text = textOf(path)?.trim();
  if (text === undefined) return undefined;
  if ((statSync(path).mode & OTHERS) !== 0) throw new UserError("TOKEN_EXPOSED", `${path} is readable by others`);
  if (/^rota_owner_[\w-]{43}$/.test(text)) return text;
  throw new UserError("STATE_UNUSABLE", `${path} holds no token`, { hint: "Remove the file; a new token is made." });
}

function makeOwnerToken(path: string, secrets: Secrets): string {
  const token = `rota_${OWNER_NAME}_${secrets.token()}`;
  writePrivately(path, `${token}\n`);
  return token;
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new UserError("STATE_UNUSABLE", `${path} cannot be read: ${(error as Error).message}`, { cause: error });
  }
}
