/**
 * The tokens of leases: made from a secret of the store, so that whoever asks for the same grant again gets the same token, although
 * only its hash is kept; and with a mark of the scheduler that gave them out. A store that was put back to what it once was gives the same
 * numbers to other claims, but under another mark: what was given out before that is not taken for what is given out now. The mark also
 * says whose session it was given to, so that it is of no use to any other caller.
 */
import type { RunId, TaskId } from "../domain/ids.ts";
import type { Run } from "../domain/run.ts";
import { isWorking, type Task } from "../domain/task.ts";
import { hashToken, isToken, type Secrets, tokensFrom } from "../effects/random.ts";

const MARK_LENGTH = 8;
/** Between the mark and the rest, in a token as in what is kept of it. What has none is from before there were marks. */
const BETWEEN = ".";

export class Tokens {
  readonly #mark: string;
  #make: ReturnType<typeof tokensFrom>;

  constructor(secrets: Secrets) {
    this.#mark = secrets.token().slice(-MARK_LENGTH).replaceAll(BETWEEN, "-");
    this.#make = tokensFrom(secrets.token());
  }

  /** From now on they follow from this secret. */
  set secret(secret: string) {
    this.#make = tokensFrom(secret);
  }

  /** Of a claim that is being made. `owner`: the id of the API token that the session belongs to, if it does to one. */
  issue(run: Run, task: Task, fence: number, owner: string | undefined): string {
    const mark = owner === undefined ? this.#mark : `${this.#mark}${BETWEEN}${owner}`;
    return this.#marked(mark, idsOf(run, task, fence));
  }

  /** What is kept of a token. */
  hash(token: string): string {
    return `${markOf(token)}${BETWEEN}${hashToken(token)}`;
  }

  /** The mark of a claim that holds, or else of whatever is given out now. */
  markOf(task: Task, fence: number): string {
    const kept = keptOf(task, fence);
    return kept === undefined ? this.#mark : markOf(kept);
  }

  /** Of a claim that was made before, perhaps by an earlier scheduler, whose mark it has. */
  again(run: Run, task: Task, fence: number, mark = this.markOf(task, fence)): string {
    return this.#marked(mark, idsOf(run, task, fence));
  }

  /** Of a claim that has ended nothing is kept, so that we could have given it out is all that is asked. */
  isGenuine(run: Run, task: Task, fence: number, token: string): boolean {
    const kept = keptOf(task, fence);
    if (kept === undefined) return this.couldBeOf(idsOf(run, task, fence), token);
    return isToken(token, kept.slice(kept.lastIndexOf(BETWEEN) + 1));
  }

  /** Whether we could have given it out for this claim: nothing has to be looked up for that. */
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

/** Whose session a claim was given to, by its token or by what is kept of it: the id of an API token, or nothing for the owner's. */
export const ownerOf = (text: string): string | undefined => markOf(text).split(BETWEEN)[1];

/** What is kept of the claim that holds, if it is this one. */
const keptOf = ({ status }: Task, fence: number): string | undefined =>
  isWorking(status) && status.lease.fence === fence ? status.lease.tokenHash : undefined;
