/**
 * The ledger in pages: events of one run that follow each other and were written at once are one row. A row for each event took a third
 * of the time of a batch, and half as much room again.
 */
import { type Event, isRecorded, isTaskEvent } from "../../../domain/event.ts";
import { dataOf, type LedgerRow } from "../../ledger.ts";
import { damaged, type Value } from "../sums/sums.ts";

/** Also a constant of the queries: they look for a position this far before it, where its page begins at the earliest. */
export const PAGE_MAX = 128;

export interface Page {
  readonly first: number;
  readonly last: number;
  readonly run: number;
  readonly events: string;
}

type Line = readonly [at: number, kind: string, data: object | null, ...(readonly [] | OfTask)];
type OfTask = readonly [task: number, version: number, attempt: number];

/** Takes events as they come, and gives each page when it is complete. */
export class Pager {
  readonly #give: (page: Page) => void;
  #lines: Line[] = [];
  #first = 0;
  #run = 0;

  constructor(give: (page: Page) => void) {
    this.#give = give;
  }

  add(event: Event): void {
    const { seq, at, run, kind } = event;
    const data = dataOf(event);
    const line: Line = isTaskEvent(event)
      ? [at, kind, data, event.task, event.version, event.attempt]
      : [at, kind, data];
    const { length } = this.#lines;
    if (length === PAGE_MAX || run !== this.#run || seq !== this.#first + length) this.end();
    if (this.#lines.length === 0) [this.#first, this.#run] = [seq, run];
    this.#lines.push(line);
  }

  /** The last event was taken. */
  end(): void {
    const { length } = this.#lines;
    if (length === 0) return;
    const last = this.#first + length - 1;
    this.#give({ first: this.#first, last, run: this.#run, events: JSON.stringify(this.#lines) });
    this.#lines = [];
  }
}

/** Adds the pages of these events, as values in the order of the columns. */
export function addPages(values: Value[], events: readonly Event[]): void {
  const pager = new Pager(({ first, last, run, events }) => values.push(first, last, run, events));
  for (const event of events) if (isRecorded(event)) pager.add(event);
  pager.end();
}

/** True of every page with an event of the task, and of few others. Searching the text takes a fraction of parsing the page. */
export const mayHave = ({ events }: Page, task: number): boolean => events.includes(`,${task},`);

/** The rows of a page. */
export function rowsOn({ first, last, run, events }: Page): readonly LedgerRow[] {
  const lines = JSON.parse(events) as readonly Line[];
  if (lines.length !== last - first + 1) throw damaged(`the page of the ledger from ${first} on is not whole`);
  return lines.map(([at, kind, data, task = null, version = null, attempt = null], index) => {
    const seq = first + index;
    return { seq, at, run, task, version, attempt, kind, data };
  });
}
