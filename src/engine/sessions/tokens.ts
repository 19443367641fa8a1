/**
 * The tokens of leases: made from a secret of the store, so that a caller that asks for the same grant again gets the same token, although
 * only its hash is kept; and with a mark of the scheduler that issued them. A store that was restored from a backup gives the same
 * numbers to other claims, but under another mark: tokens from before the restore do not count for them. The mark also contains the id of the
 * API token whose session got the lease, so that the token is of no use to any other caller.
 */
import type { RunId, TaskId } from "../../domain/ids.ts";
import type { Run } from "../../domain/run.ts";
import { isWorking, type Task } from "../../domain/task.ts";
import { hashToken, isToken, type Secrets, tokensFrom } from "../../effects/random.ts";

const MARK_LENGTH = 8;
/** Stands between the mark and the rest, in a token and in its stored hash. Tokens without it are from before there were marks. */
const BETWEEN = ".";

export class Tokens {
  readonly #mark: string;
  #make: ReturnType<typeof tokensFrom>;

  constructor(secrets: Secrets) {
    this.#mark = secrets.token().slice(-MARK_LENGTH).replaceAll(BETWEEN, "-");
    this.#make = tokensFrom(secrets.token());
  }

  /** From now on tokens follow from this secret. */
  set secret(secret: string) {
    this.#make = tokensFrom(secret);
  }

  /** The token of a new claim. `owner`: the id of the API token that the session belongs to, if any. */
  issue(run: Run, task: Task, fence: number, owner: string | undefined): string {
    const mark = owner === undefined ? this.#mark : `${this.#mark}${BETWEEN}${owner}`;
    return this.#marked(mark, idsOf(run, task, fence));
  }

  /** What the store keeps of a token. */
  hash(token: string): string {
    return `${markOf(token)}${BETWEEN}${hashToken(token)}`;
  }

  /** The mark of a live claim, or else the mark of this scheduler. */
  markOf(task: Task, fence: number): string {
    const kept = keptOf(task, fence);
    return kept === undefined ? this.#mark : markOf(kept);
  }

  /** The token of an earlier claim, perhaps of an earlier scheduler, whose mark it has. */
  again(run: Run, task: Task, fence: number, mark = this.markOf(task, fence)): string {
    return this.#marked(mark, idsOf(run, task, fence));
  }

  /** Of a claim that has ended nothing is kept, so the check is only whether this store could have issued the token. */
  isGenuine(run: Run, task: Task, fence: number, token: string): boolean {
    const kept = keptOf(task, fence);
    if (kept === undefined) return this.couldBeOf(idsOf(run, task, fence), token);
    return isToken(token, kept.slice(kept.lastIndexOf(BETWEEN) + 1));
  }

  /** Whether this store could have issued the token for this claim, without a look at the claim. */
  couldBeOf(ids: ClaimIds, token: string): boolean {
    return isToken(token, hashToken(this.#marked(markOf(token), ids)));
  }

  #marked(mark: string, { run, task, fence }: ClaimIds): string {
    if (mark === "") return this.#make(run, task, fence);
    return `${mark}${BETWEEN}${this.#make(run, task, fence, mark)}`;
  }
}

interface ClaimIds {
  readonly run: RunId;
  readonly task: TaskId;
  readonly fence: number;
}
const idsOf = ({ manifest }: Run, { spec }: Task, fence: number): ClaimIds => ({
  run: manifest.id,
  task: spec.id,
  fence,
});

const markOf = (text: string): string => text.slice(0, Math.max(0, text.lastIndexOf(BETWEEN)));

/** The id of the API token whose session got the claim, from its token or from the stored hash; nothing for the owner's sessions. */
export const ownerOf = (text: string): string | undefined => markOf(text).split(BETWEEN)[1];

/** The stored hash of the live claim, if it is this one. */
const keptOf = ({ status }: Task, fence: number): string | undefined =>
  isWorking(status) && status.lease.fence === fence ? status.lease.tokenHash : undefined;
