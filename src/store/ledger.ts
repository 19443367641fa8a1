/** Between events and rows of the ledger: the fields that every query uses have columns, and the rest is one value. */
import type { Event } from "../domain/event.ts";

export interface LedgerRow {
  readonly seq: number;
  readonly at: number;
  readonly run: number;
  readonly task: number | null;
  readonly version: number | null;
  readonly attempt: number | null;
  readonly kind: string;
  readonly data: object | null;
}

/** Fields with a column of their own, and what must not be in the ledger: secrets, and the tasks, which have a table of their own. */
const NOT_IN_DATA = new Set([
  "seq",
  "at",
  "run",
  "task",
  "version",
  "attempt",
  "kind",
  "tokenHash",
  "specs",
  "manifest",
]);

/** The fields of an event beside its place. */
export function dataOf(event: Event): object | null {
  let data: Record<string, unknown> | null = null;
  for (const key in event) {
    if (NOT_IN_DATA.has(key)) continue;
    data ??= {};
    data[key] = (event as unknown as Record<string, unknown>)[key];
  }
  return data;
}

/**
 * The event again. A `claimed` has no token (an empty hash stands for it), and a `run_submitted` neither manifest nor tasks:
 * the code that folds it in asks the store for the run.
 */
export function fromLedgerRow({ seq, at, run, kind, data, task, version, attempt }: LedgerRow): Event {
  const place = task === null ? {} : { task, version, attempt };
  const secret = kind === "claimed" ? { tokenHash: "" } : {};
  return { seq, at, run, kind, ...place, ...secret, ...data } as unknown as Event;
}

/** The event as `fromLedgerRow` would give it back, for a store that keeps whole events. */
export function asRecorded(event: Event): Event {
  if (event.kind === "claimed") return { ...event, tokenHash: "" };
  if (event.kind !== "run_submitted") return event;
  const { manifest: _, specs: __, ...rest } = event;
  return rest as Event;
}
