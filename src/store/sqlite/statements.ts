/** Every statement the SQLite store runs, prepared once, named for what it does. */
import type { DatabaseSync } from "node:sqlite";

export type Statements = ReturnType<typeof prepareStatements>;

export function prepareStatements(db: DatabaseSync) {
  return {
    ownership: db.prepare("select epoch, owner from ownership"),
    takeOwnership: db.prepare("update ownership set epoch = epoch + 1, owner = ? returning epoch"),
    dropOwnership: db.prepare("update ownership set owner = null where epoch = ?"),
    holdsEpoch: db.prepare("select 1 from ownership where epoch = ?"),

    insertRun: db.prepare(`
      insert into run (no, id, name, digest, manifest, tasks, state, outcome, ended_at, cancelling)
      values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`),
    updateRun: db.prepare("update run set state = ?, outcome = ?, ended_at = ?, cancelling = ? where no = ?"),
    allRuns: db.prepare("select no, manifest, tasks, state, outcome, ended_at, cancelling from run order by no"),
    oneRun: db.prepare("select no, manifest, tasks, state, outcome, ended_at, cancelling from run where no = ?"),

    insertSpec: db.prepare("insert into task_spec (run, no, id, spec) values (?, ?, ?, ?)"),
    specsOfRun: db.prepare("select spec from task_spec where run = ? order by no"),

    insertTask: db.prepare(`
      insert into task (run, no, state, version, attempt, failures, expiries, approved, since,
                        not_before, worker, expires_at, token_hash, lost_by, lane, detail)
      values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      on conflict do nothing`),
    // The version is the compare-and-set: a row that another has replaced meanwhile is not touched.
    updateTask: db.prepare(`
      update task
      set state = ?, version = ?, attempt = ?, failures = ?, expiries = ?, approved = ?, since = ?,
          not_before = ?, worker = ?, expires_at = ?, token_hash = ?, lost_by = ?, lane = ?, detail = ?
      where run = ? and no = ? and version = ?`),
    tasksOfRun: db.prepare(`
      select run, no, state, version, attempt, failures, expiries, approved, since,
             not_before, worker, expires_at, token_hash, lost_by, lane, detail
      from task where run = ? order by no`),

    insertEvent: db.prepare(`
      insert into ledger (seq, at, run, task, version, attempt, kind, data) values (?, ?, ?, ?, ?, ?, ?, ?)`),
    lastSeq: db.prepare("select coalesce(max(seq), 0) as seq from ledger"),
    events: db.prepare(`
      select seq, at, run, task, version, attempt, kind, data
      from ledger
      where seq > :after and (:run is null or run = :run) and (:task is null or task = :task)
      order by seq limit :limit`),

    durations: db.prepare("select task, count, mean_log from duration where plan = ?"),
    estimateError: db.prepare("select count, sum_of_squares from estimate_error where plan = ?"),
    writeDuration: db.prepare(`
      insert into duration (plan, task, count, mean_log) values (?, ?, ?, ?)
      on conflict (plan, task) do update set count = excluded.count, mean_log = excluded.mean_log`),
    addEstimateError: db.prepare(`
      insert into estimate_error (plan, count, sum_of_squares) values (?, ?, ?)
      on conflict (plan) do update
      set count = count + excluded.count, sum_of_squares = sum_of_squares + excluded.sum_of_squares`),

    insertRequest: db.prepare("insert into request (at, body) values (?, ?)"),
    allRequests: db.prepare("select no, body from request order by no"),
    deleteRequest: db.prepare("delete from request where no = ?"),
  };
}
