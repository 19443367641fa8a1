/** The verbs that only read, each from one state of the file, with errors that tell a person what to do. */
import type { Store } from "../../store.ts";
import { asUserError } from "../failure.ts";
import { readEvents, readForgotten, readLastSeq } from "../ledger/read-ledger.ts";
import { readAnswer, readDoneKeys, readPauses, readSessions } from "../sums/registers.ts";
import { type Counted, refuseMissing } from "../sums/seals.ts";
import type { transactions } from "../writing/target.ts";
import { readHistory, readRequests, readRun, readRuns, type Source } from "./read.ts";

export type Reads = Pick<
  Store,
  | "runs"
  | "load"
  | "events"
  | "history"
  | "lastSeq"
  | "sessions"
  | "pauses"
  | "recall"
  | "doneWith"
  | "forgotten"
  | "requests"
>;

/** Errors of a verb are turned into errors that tell a person what to do. */
export function plainly<T>(file: string, verb: () => T): T {
  try {
    return verb();
  } catch (error) {
    throw asUserError(error, file);
  }
}

export function readsOf(source: Source, file: string, inTransaction: ReturnType<typeof transactions>): Reads {
  const reading = <T>(verb: () => T): T => plainly(file, () => inTransaction(verb, "deferred"));
  /** A table may have many rows, so whether it is complete is checked once. */
  const whole = new Set<Counted>();
  const mustBeWhole = (table: Counted): void => {
    if (!whole.has(table)) refuseMissing(source.seals, table);
    whole.add(table);
  };
  return {
    runs: async (which) => plainly(file, () => readRuns(source, which)),
    load: async (no) => reading(() => readRun(source, no)),
    events: async (query) => reading(() => readEvents(source, query)),
    history: async (plan) =>
      reading(() => {
        mustBeWhole("duration");
        mustBeWhole("estimate_error");
        return readHistory(source, plan);
      }),
    lastSeq: async () => reading(() => readLastSeq(source)),
    sessions: async () => reading(() => readSessions(source)),
    pauses: async () => reading(() => readPauses(source)),
    recall: async (key) =>
      reading(() => {
        mustBeWhole("answer");
        return readAnswer(source, key);
      }),
    doneWith: async (keys) =>
      reading(() => {
        mustBeWhole("done_key");
        return readDoneKeys(source, keys);
      }),
    forgotten: async () => reading(() => readForgotten(source)),
    requests: async () => reading(() => readRequests(source)),
  };
}
