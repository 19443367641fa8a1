/** Every statement the SQLite store runs, prepared once, named for what it does. */

import { PAGE_MAX } from "./ledger/pages.ts";
import type { Database, Statement } from "./platform.ts";
import { Inserts } from "./writing/inserts.ts";

export type Reading = ReturnType<typeof prepareReading>;

export function prepareReading(db: Database) {
  const run = "select no, id, name, digest, manifest, tasks, state, outcome, ended_at, cancelling, sum from run";
  return {
    ownership: db.prepare(`select epoch, owner, sum from ownership`),
    allRuns: db.prepare(`${run} order by no`),
    unfinishedRuns: db.prepare(`${run} where state <> 'finished' order by no`),
    newestRun: db.prepare(`${run} order by no desc limit 1`),
    oneRun: db.prepare(`${run} where no = ?`),
    runOfName: db.prepare(`${run} where id = ?`),
    // A range and not a pattern: the index on the ids is used, and no character that a user typed has a special meaning.
    runsBeginning: db.prepare(`${run} where id >= ? and id < ? order by no`),
    newestRuns: db.prepare(`select * from (${run} where no < ? order by no desc limit ?) order by no`),
    specsOfRun: asLists(db.prepare(`select run, no, id, spec, sum from task_spec where run = ? order by no`)),
    tasksOfRun: asLists(
      db.prepare(`
      select run, no, state, version, attempt, failures, expiries, approved, since,
             not_before, worker, expires_at, token_hash, lost_by, lane, detail, sum
      from task where run = ? order by no`),
    ),
    lastSeq: db.prepare("select coalesce((select last from page order by first desc limit 1), 0) as seq"),
    // In order, and no more pages than the query needs.
    pages: db.prepare(`
      select first, last, run, events, sum from page
      where first > :after - ${PAGE_MAX} and first <= :last and last > :after and (:run is null or run = :run)
      order by first`),
    forgotten: db.prepare("select first, last, sum from forgotten order by first"),
    forgottenAt: db.prepare("select first, last, sum from forgotten where first <= ? order by first desc limit 1"),
    durations: db.prepare("select plan, task, count, mean_log, sum from duration where plan = ?"),
    estimateError: db.prepare("select plan, count, sum_of_squares, sum from estimate_error where plan = ?"),
    allRequests: db.prepare("select no, at, body, sum from request order by no"),
    readMeta: db.prepare("select key, value, sum from meta where key = ?"),
    allSessions: db.prepare(`
      select id, profile, state, joined_at, seen_at, losses, sum from session order by joined_at, id`),
    allPauses: db.prepare("select scope, body, sum from pause order by scope"),
    oneDoneKey: db.prepare("select key, body, sum from done_key where key = ?"),
    oneAnswer: db.prepare("select key, at, body, sum from answer where key = ?"),
  };
}

/** Gives each row as the list of its values: for the rows of a large run that takes a quarter of the time of objects. */
function asLists(statement: Statement): Statement {
  statement.setReturnArrays(true);
  return statement;
}

export type SealReading = ReturnType<typeof prepareSeals>;

export const prepareSeals = (db: Database) => ({
  readSeal: db.prepare("select run, first, last, versions, sum from seal where run = ?"),
  session: db.prepare("select coalesce(sum(sum), 0) as total from session"),
  pause: db.prepare("select coalesce(sum(sum), 0) as total from pause"),
  request: db.prepare("select coalesce(sum(sum), 0) as total from request"),
  answer: db.prepare("select coalesce(sum(sum), 0) as total from answer"),
  done_key: db.prepare("select coalesce(sum(sum), 0) as total from done_key"),
  duration: db.prepare("select coalesce(sum(sum), 0) as total from duration"),
  estimate_error: db.prepare("select coalesce(sum(sum), 0) as total from estimate_error"),
  forgotten: db.prepare("select coalesce(sum(sum), 0) as total from forgotten"),
});

export type Writing = ReturnType<typeof prepareWriting>;

export function prepareWriting(db: Database) {
  return {
    writeOwnership: db.prepare("update ownership set epoch = ?, owner = ?, sum = ?"),
    holdsEpoch: db.prepare("select 1 from ownership where epoch = ?"),

    runs: new Inserts(db, "run", "no, id, name, digest, manifest, tasks, state, outcome, ended_at, cancelling"),
    updateRun: db.prepare("update run set state = ?, outcome = ?, ended_at = ?, cancelling = ?, sum = ? where no = ?"),

    specs: new Inserts(db, "task_spec", "run, no, id, spec"),
    updateSpec: db.prepare("update task_spec set spec = ?, sum = ? where run = ? and no = ?"),

    tasks: new Inserts(
      db,
      "task",
      `run, no, state, version, attempt, failures, expiries, approved, since,
       not_before, worker, expires_at, token_hash, lost_by, lane, detail`,
      "on conflict do nothing",
    ),
    // The version is the compare-and-set: a row that another batch has replaced meanwhile is not touched.
    updateTask: db.prepare(`
      update task
      set state = ?, version = ?, attempt = ?, failures = ?, expiries = ?, approved = ?, since = ?,
          not_before = ?, worker = ?, expires_at = ?, token_hash = ?, lost_by = ?, lane = ?, detail = ?, sum = ?
      where run = ? and no = ? and version = ?`),

    pages: new Inserts(db, "page", "first, last, run, events"),
    writeSeal: db.prepare(`
      insert into seal (run, first, last, versions, sum) values (?, ?, ?, ?, ?)
      on conflict (run) do update set last = excluded.last, versions = excluded.versions, sum = excluded.sum`),

    durations: new Inserts(
      db,
      "duration",
      "plan, task, count, mean_log",
      "on conflict do update set count = excluded.count, mean_log = excluded.mean_log, sum = excluded.sum",
    ),
    writeEstimateError: db.prepare(`
      insert into estimate_error (plan, count, sum_of_squares, sum) values (?, ?, ?, ?)
      on conflict (plan) do update
      set count = excluded.count, sum_of_squares = excluded.sum_of_squares, sum = excluded.sum`),

    // Two statements in one transaction: the number that the sum covers is known only after the insert.
    insertRequest: db.prepare("insert into request (at, body, sum) values (?, ?, 0)"),
    sumRequest: db.prepare("update request set sum = ? where no = ?"),
    sumOfRequest: db.prepare("select sum from request where no = ?"),
    deleteRequest: db.prepare("delete from request where no = ?"),

    writeSession: db.prepare(`
      insert into session (id, profile, state, joined_at, seen_at, losses, sum) values (?, ?, ?, ?, ?, ?, ?)
      on conflict (id) do update set profile = excluded.profile, state = excluded.state,
        joined_at = excluded.joined_at, seen_at = excluded.seen_at, losses = excluded.losses, sum = excluded.sum`),
    sumOfSession: db.prepare("select sum from session where id = ?"),
    deleteSession: db.prepare("delete from session where id = ?"),
    writePause: db.prepare(`
      insert into pause (scope, body, sum) values (?, ?, ?)
      on conflict (scope) do update set body = excluded.body, sum = excluded.sum`),
    sumOfPause: db.prepare("select sum from pause where scope = ?"),
    deletePause: db.prepare("delete from pause where scope = ?"),
    writeAnswer: db.prepare("insert into answer (key, at, body, sum) values (?, ?, ?, ?) on conflict do nothing"),
    writeDoneKey: db.prepare("insert into done_key (key, body, sum) values (?, ?, ?) on conflict do nothing"),
    sumOldAnswers: db.prepare("select coalesce(sum(sum), 0) as total from answer where at < ?"),
    deleteAnswers: db.prepare("delete from answer where at < ?"),
    writeMeta: db.prepare("insert into meta (key, value, sum) values (?, ?, ?) on conflict do nothing"),
  };
}

export type Forgetting = ReturnType<typeof prepareForgetting>;

/** Statements for forgetting runs, which is rare. Runs are given as a list in JSON. */
export function prepareForgetting(db: Database) {
  const listed = "(select value from json_each(:runs))";
  return {
    forgettable: db.prepare(`
      select no, id, name, digest, manifest, tasks, state, outcome, ended_at, cancelling, sum from run
      where no in ${listed} and state = 'finished' and no <> (select max(no) from run)
        and no not in (select json_extract(body, '$.run') from answer)`),
    // Between these positions only: the events of old runs are at the beginning.
    positions: db.prepare(`
      select first, last from page where first >= :first and first <= :last and run in ${listed} order by first`),
    deletePages: db.prepare(`delete from page where first >= :first and first <= :last and run in ${listed}`),
    deleteTasks: db.prepare(`delete from task where run in ${listed}`),
    deleteSpecs: db.prepare(`delete from task_spec where run in ${listed}`),
    deleteSeals: db.prepare(`delete from seal where run in ${listed}`),
    deleteRuns: db.prepare(`delete from run where no in ${listed}`),
    addRange: db.prepare("insert into forgotten (first, last, sum) values (?, ?, ?)"),
    deleteRange: db.prepare("delete from forgotten where first = ?"),
  };
}
