/** The store in memory: the same promises as long as the process lives. For simulations, tests and plans that need no record. */

import { afterSamples, type History, NO_HISTORY } from "../../domain/durations/history.ts";
import { type Event, isRecorded } from "../../domain/event.ts";
import type { TaskNo } from "../../domain/graph.ts";
import type { WorkerId } from "../../domain/ids.ts";
import type { RunNo } from "../../domain/run.ts";
import type { Session } from "../../domain/sessions/session.ts";
import type { TaskSpec } from "../../domain/spec.ts";
import { type Instant, later, type Millis } from "../../domain/time.ts";
import type { Pause } from "../../domain/waiting/pause.ts";
import type { Clock } from "../../effects/clock.ts";
import { err, ok } from "../../std/result.ts";
import { joined, type Range } from "../../std/skips.ts";
import { asRecorded } from "../ledger.ts";
import type { RunRow, TaskRow } from "../rows.ts";
import type { Batch, DoneKey, OnRecord, Owner, PendingRequest, Remembered, Store, Term } from "../store.ts";
import { Turns } from "../turns.ts";

interface Kept {
  row: RunRow;
  specs: readonly TaskSpec[];
  readonly tasks: Map<TaskNo, TaskRow>;
}

const KEEPS_ALL = Number.POSITIVE_INFINITY;

export interface MemoryOptions {
  /**
   * Whether the owner on record still schedules. Without it this store says no: all its schedulers are in one process, and each
   * begins after the one before has ended.
   */
  readonly lives?: (owner: Owner) => boolean;
  /** Terms end by this clock, after this span. */
  readonly term?: { readonly clock: Pick<Clock, "now">; readonly lasts: Millis };
}

export function openMemoryStore({ lives = () => false, term }: MemoryOptions = {}): Store {
  let owner: Owner | undefined;
  let epoch = 0;
  let expires: Instant | undefined;
  const turns = new Turns();
  let lastRequest = 0;
  const runs = new Map<RunNo, Kept>();
  let ledger: Event[] = [];
  let lastSeq = 0;
  let forgotten: readonly Range[] = [];
  const requests = new Map<number, PendingRequest>();
  const sessions = new Map<WorkerId, Session>();
  const pauses = new Map<string, Pause>();
  const answers = new Map<string, Remembered>();
  const done = new Map<string, DoneKey>();
  let secret: string | undefined;
  const histories = new Map<string, History>();

  const isOver = (): boolean => term !== undefined && expires !== undefined && term.clock.now() >= expires;
  const onRecord = (): OnRecord | undefined =>
    owner && { ...owner, lives: term === undefined ? lives(owner) : !isOver() };
  /** The term from now on. */
  const lasting = (): Term => {
    if (term === undefined) return { epoch };
    expires = later(term.clock.now(), term.lasts);
    return { epoch, expires };
  };

  /** Checks everything that could refuse the batch before anything is changed: it is written whole or not at all. */
  const refuses = (batch: Batch): boolean =>
    batch.epoch !== epoch ||
    batch.tasks.some(({ row, replaces }) => (runs.get(row.run)?.tasks.get(row.task)?.version ?? 0) !== replaces);

  const write = (batch: Batch): void => {
    for (const { run: no, manifest, specs } of batch.submitted) {
      const row: RunRow = { no, manifest, tasks: specs.length, status: { state: "active" }, cancelling: false };
      runs.set(no, { row, specs, tasks: new Map() });
    }
    for (const row of batch.runs) (runs.get(row.no) as Kept).row = row;
    for (const { row } of batch.tasks) (runs.get(row.run) as Kept).tasks.set(row.task, row);
    for (const event of batch.events) if (isRecorded(event)) ledger.push(asRecorded(event));
    lastSeq = ledger.at(-1)?.seq ?? lastSeq;
    for (const no of batch.requestsDone) requests.delete(no);
    for (const { plan, durationSamples } of batch.durationSamples) {
      histories.set(plan, afterSamples(histories.get(plan) ?? NO_HISTORY, durationSamples));
    }
    for (const { run, task, spec } of batch.edited) {
      const kept = runs.get(run) as Kept;
      kept.specs = kept.specs.with(task, spec);
    }
    writeRegisters(batch);
  };

  /** The runs among these that are no longer needed. */
  const forgettable = (wanted: readonly RunNo[]): ReadonlySet<RunNo> => {
    const newest = Math.max(...runs.keys());
    const recalled = new Set([...answers.values()].map(({ answer }) => answer.run));
    const isOver = (no: RunNo): boolean => runs.get(no)?.row.status.state === "finished";
    return new Set(wanted.filter((no) => isOver(no) && no !== newest && !recalled.has(no)));
  };

  /** Copies, since the objects of the World go on changing. */
  const writeRegisters = (batch: Batch): void => {
    for (const { id, session } of batch.sessions) {
      if (session === undefined) sessions.delete(id);
      else sessions.set(id, { ...session });
    }
    for (const { key, pause } of batch.pauses) {
      if (pause === undefined) pauses.delete(key);
      else pauses.set(key, pause);
    }
    for (const each of batch.answers) if (!answers.has(each.key)) answers.set(each.key, each);
    for (const each of batch.done) if (!done.has(each.key)) done.set(each.key, each);
  };

  return {
    async acquire(next) {
      const current = onRecord();
      if (current?.lives) return err(current);
      owner = next;
      epoch++;
      return ok(lasting());
    },
    async renew(held) {
      if (held.epoch !== epoch || owner === undefined || isOver()) return err("ownership-lost");
      return ok(lasting());
    },
    async release(held) {
      if (held.epoch === epoch) owner = undefined;
    },
    async owner() {
      return onRecord();
    },
    async commit(batch) {
      const isWritten = turns.next(batch.epoch, () => {
        if (refuses(batch)) return false;
        write(batch);
        return true;
      });
      return isWritten ? ok(undefined) : err("ownership-lost");
    },
    maintain() {},
    async runs(which) {
      const rows = [...runs.values()].map(({ row }) => row);
      if (which === undefined) return rows;
      if (which === "newest") return rows.slice(-1);
      if (which === "unfinished") return rows.filter(({ status }) => status.state !== "finished");
      if ("no" in which) return rows.filter(({ no }) => no === which.no);
      if ("id" in which) return rows.filter(({ manifest }) => manifest.id === which.id);
      if ("begins" in which) return rows.filter(({ manifest }) => manifest.id.startsWith(which.begins));
      const { newest, before = KEEPS_ALL } = which;
      return newest === 0 ? [] : rows.filter(({ no }) => no < before).slice(-newest);
    },
    async load(no) {
      const kept = runs.get(no);
      if (kept === undefined) return undefined;
      const tasks = [...kept.tasks.values()].sort((a, b) => a.task - b.task);
      return { row: kept.row, specs: kept.specs, tasks };
    },
    async events({ run, task, after = 0, limit = KEEPS_ALL }) {
      const asked = (event: Event): boolean =>
        (run === undefined || event.run === run) && (task === undefined || ("task" in event && event.task === task));
      return ledger.slice(placeAfter(ledger, after)).filter(asked).slice(0, limit);
    },
    async history(plan) {
      return histories.get(plan) ?? NO_HISTORY;
    },
    async lastSeq() {
      return lastSeq;
    },
    async sessions() {
      const inOrder = (a: Session, b: Session): number =>
        a.joinedAt - b.joinedAt || (a.profile.id < b.profile.id ? -1 : 1);
      return [...sessions.values()].map((session) => ({ ...session })).sort(inOrder);
    },
    async pauses() {
      return [...pauses].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, pause]) => pause);
    },
    async recall(key) {
      return answers.get(key)?.answer;
    },
    async doneWith(keys) {
      return keys.flatMap((key) => done.get(key) ?? []);
    },
    async forget(before) {
      for (const [key, { at }] of answers) if (at < before) answers.delete(key);
    },
    async prune(wanted) {
      const current = onRecord();
      if (current?.lives) return err(current);
      const gone = forgettable(wanted);
      const ids = new Set(Array.from(gone, (no) => runs.get(no)?.row.manifest.id));
      for (const no of gone) runs.delete(no);
      const isGone = (run: RunNo): boolean => gone.has(run);
      const positions = ledger.filter(({ run }) => isGone(run)).map(({ seq }): Range => ({ first: seq, last: seq }));
      forgotten = [...joined([...forgotten, ...positions].sort((a, b) => a.first - b.first))];
      ledger = ledger.filter(({ run }) => !isGone(run));
      for (const [no, { run }] of requests) if (ids.has(run)) requests.delete(no);
      for (const [key, { scope }] of pauses) if ("run" in scope && isGone(scope.run)) pauses.delete(key);
      return ok([...gone]);
    },
    async forgotten() {
      return forgotten;
    },
    async secret(fresh) {
      secret ??= fresh;
      return secret;
    },
    async request(request) {
      requests.set(++lastRequest, { ...request, no: lastRequest });
      return lastRequest;
    },
    async requests() {
      return [...requests.values()];
    },
    async damage() {
      return undefined;
    },
    async check() {
      return [];
    },
    async [Symbol.asyncDispose]() {},
  };
}

/** Where in the ledger the events after this position begin. */
function placeAfter(ledger: readonly Event[], seq: number): number {
  let [low, high] = [0, ledger.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((ledger[middle] as Event).seq <= seq) low = middle + 1;
    else high = middle;
  }
  return low;
}
