/** Checks every row, and says which are not as they were written. */
import type { Database } from "../platform.ts";
import type { Row } from "../reading/read.ts";
import { COUNTED, type Counted, type Seal, WHOLE_LEDGER } from "./seals.ts";
import { sumOf, TABLES, type Table, type Value } from "./sums.ts";

interface Columns {
  /** The columns that name a row. */
  readonly key: readonly string[];
  /** The columns that its checksum covers, in that order. */
  readonly values: readonly string[];
}

const columns = (key: string, values: string): Columns => ({ key: key.split(" "), values: values.split(" ") });

const COLUMNS: Readonly<Record<Table, Columns>> = {
  meta: columns("key", "key value"),
  ownership: columns("one", "epoch owner"),
  run: columns("no", "no id name digest manifest tasks state outcome ended_at cancelling"),
  task_spec: columns("run no", "run no id spec"),
  task: columns(
    "run no",
    "run no state version attempt failures expiries approved since not_before worker expires_at token_hash lost_by lane detail",
  ),
  page: columns("first", "first last run events"),
  request: columns("no", "no at body"),
  duration: columns("plan task", "plan task count mean_log"),
  estimate_error: columns("plan", "plan count sum_of_squares"),
  session: columns("id", "id profile state joined_at seen_at losses"),
  pause: columns("scope", "scope body"),
  answer: columns("key", "key at body"),
  done_key: columns("key", "key body"),
  seal: columns("run", "run first last versions"),
  forgotten: columns("first", "first last"),
};

/** Everything that is not as it was written, in sentences, up to a limit. */
export function* audit(db: Database): Generator<string> {
  for (const table of TABLES) {
    for (const row of rowsOf(db, table)) {
      if (row["sum"] !== sumOfRow(table, row)) yield `${table} ${nameOf(table, row)} is not what was written`;
    }
  }
  yield* auditSeals(db);
}

function* auditSeals(db: Database): Generator<string> {
  const needed = new Map(sealsNeeded(db).map((seal) => [seal.run, seal]));
  for (const row of rowsOf(db, "seal")) {
    const kept = row as unknown as Seal;
    const found = needed.get(kept.run) ?? { run: kept.run, first: 0, last: 0, versions: 0 };
    needed.delete(kept.run);
    if (kept.run < WHOLE_LEDGER) {
      if (found.versions !== kept.versions) yield `the table ${tableOf(kept.run)} is not whole`;
      continue;
    }
    const whose = kept.run === WHOLE_LEDGER ? "the ledger" : `run ${kept.run}`;
    if (found.last !== kept.last) yield `${whose} ends with event ${found.last}, where ${kept.last} was written`;
    if (kept.run === WHOLE_LEDGER) yield* auditPositions(db, kept.last);
    if (found.versions !== kept.versions)
      yield `${whose}: its tasks have gone through ${found.versions} changes, where ${kept.versions} were made`;
  }
  for (const { run, versions } of needed.values()) {
    if (run > WHOLE_LEDGER) yield `the seal of run ${run} is gone`;
    else if (versions !== 0) yield `the seal of the table ${tableOf(run)} is gone`;
  }
  for (const table of ["task", "task_spec"]) {
    const without = `select distinct run from ${table} where run not in (select no from run)`;
    for (const { run } of db.prepare(without).all()) yield `${table} has rows of run ${String(run)}, which is gone`;
  }
  for (const { no, planned, found } of db.prepare(PLANNED).all() as unknown as Planned[])
    if (planned !== found) yield `run ${no} has ${found} of its ${planned} tasks`;
}

/** Every position belongs to an event in a page, or to a forgotten event. */
function* auditPositions(db: Database, last: number): Generator<string> {
  const events = numberOf(db, `select coalesce(sum(last - first + 1), 0) as n from page`);
  const forgotten = numberOf(db, "select coalesce(sum(last - first + 1), 0) as n from forgotten");
  if (events + forgotten !== last)
    yield `the ledger has ${events} events, where ${last - forgotten} were written and not forgotten`;
  if (forgotten > 0 && numberOf(db, BOTH) > 0) yield "events of the ledger that were forgotten are there";
}

const BOTH =
  "select count(*) as n from forgotten join page on page.first <= forgotten.last and page.last >= forgotten.first";

const numberOf = (db: Database, query: string): number => (db.prepare(query).get() as { n: number }).n;

interface Planned {
  readonly no: number;
  readonly planned: number;
  readonly found: number;
}
const PLANNED = `
  select run.no, run.tasks as planned, (select count(*) from task_spec where task_spec.run = run.no) as found from run`;

const tableOf = (run: number): string => Object.entries(COUNTED).find(([, no]) => no === run)?.[0] ?? "";

function sealsNeeded(db: Database): readonly Seal[] {
  const seals = db
    .prepare(
      `select run, min(first) as first, max(last) as last,
              (select coalesce(sum(version), 0) from task where task.run = page.run) as versions
       from page where run <> ${WHOLE_LEDGER} group by run`,
    )
    .all() as unknown as Seal[];
  const counted = (Object.keys(COUNTED) as Counted[]).map((table) => ({
    run: COUNTED[table],
    first: 0,
    last: 0,
    versions: numberOf(db, `select coalesce(sum(sum), 0) as n from ${table}`),
  }));
  return [...counted, ...seals, { run: WHOLE_LEDGER, first: 0, last: lastIn(db), versions: 0 }];
}

function lastIn(db: Database): number {
  const last = (table: string): number => numberOf(db, `select coalesce(max(last), 0) as n from ${table}`);
  return Math.max(last("page"), last("forgotten"));
}

function rowsOf(db: Database, table: Table): IterableIterator<Row> {
  const { key, values } = COLUMNS[table];
  const names = [...new Set([...key, ...values, "sum"])];
  return db.prepare(`select ${names.join(", ")} from ${table}`).iterate() as IterableIterator<Row>;
}

const sumOfRow = (table: Table, row: Row): number => sumOf(table, ...valuesOf(row, COLUMNS[table].values));
const valuesOf = (row: Row, names: readonly string[]): Value[] => names.map((name) => row[name] as Value);
const nameOf = (table: Table, row: Row): string =>
  table === "meta" || table === "answer" ? "" : valuesOf(row, COLUMNS[table].key).join("/");
