/** Between events and rows of the ledger: what everybody asks for by itself, and the rest together. */
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

/** What stands by itself, and what must not stand in the ledger: secrets, and the tasks, which have a table of their own. */
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

/** What an event has besides its place. */
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
 * whoever folds it in asks the store for the run.
 */
export function fromLedgerRow({ seq, at, run, kind, data, task, version, attempt }: LedgerRow): Event {
  const place = task === null ? {} : { task, version, attempt };
  const secret = kind === "claimed" ? { tokenHash: "" } : {};
  return { seq, at, run, kind, ...place, ...secret, ...data } as unknown as Event;
}

/** The event as `fromLedgerRow` would give it back, for a store that keeps events as they are. */
export function asRecorded(event: Event): Event {
  if (event.kind === "claimed") return { ...event, tokenHash: "" };
  if (event.kind !== "run_submitted") return event;
  const { manifest: _, specs: __, ...rest } = event;
  return rest as Event;
}
