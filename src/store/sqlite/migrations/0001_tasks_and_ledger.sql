-- Runs, their tasks, what happened to them, who schedules, and who works. The last column of every table is the checksum of its row.

-- "Rota": the file is one of ours.
pragma application_id = 0x526f7461;

create table meta (
  key   text primary key,
  value text not null,
  sum   integer not null
) strict, without rowid;

-- One row: the process that schedules for this store. The epoch only grows. The sum is that of an epoch of 0 and no owner.
create table ownership (
  one   integer primary key check (one = 1),
  epoch integer not null,
  owner text,
  sum   integer not null
) strict;
insert into ownership (one, epoch, owner, sum) values (1, 0, null, -1984757490);

-- The laws of states are plain comparisons on purpose: a list after `in` is built anew for every row that is written, which
-- took as long as all the rest of writing it (a run 52 against 27 microseconds).
create table run (
  no         integer primary key,
  id         text not null unique,
  name       text not null,
  digest     text not null,
  manifest   text not null,
  tasks      integer not null,
  state      text not null check (state = 'active' or state = 'stalled' or state = 'finished'),
  outcome    text,
  ended_at   integer,
  cancelling integer not null check (cancelling = 0 or cancelling = 1),
  sum        integer not null,
  check ((state = 'active') = (outcome is null)),
  check (state <> 'finished' or outcome = 'succeeded' or outcome = 'failed' or outcome = 'cancelled'),
  check (state <> 'stalled' or outcome = 'waiting' or outcome = 'deadlock'),
  check ((state = 'active') = (ended_at is null))
) strict;
-- Few of the runs there are have not ended: a scheduler that goes on with those need not look through all of them.
create index run_unfinished on run (no) where state <> 'finished';

-- What a task is. Only a person's edit changes it.
create table task_spec (
  run  integer not null references run (no),
  no   integer not null,
  id   text not null,
  spec text not null,
  sum  integer not null,
  primary key (run, no)
) strict, without rowid;

-- How a task is: there is a row once anything has happened to it. A task without one waits.
create table task (
  run        integer not null,
  no         integer not null,
  state      text not null,
  version    integer not null check (version >= 0),
  attempt    integer not null check (attempt >= 0),
  failures   integer not null check (failures >= 0 and failures <= attempt),
  expiries   integer not null check (expiries >= 0),
  approved   integer not null check (approved = 0 or approved = 1),
  since      integer not null,
  not_before integer,
  worker     text,
  expires_at integer,
  token_hash text,
  lost_by    text,
  lane       text,
  detail     text,
  sum        integer not null,
  primary key (run, no),
  check (case state
    when 'waiting'   then worker is null
    when 'claimed'   then worker is not null and attempt > 0 and not_before is null
    when 'running'   then worker is not null and attempt > 0 and not_before is null
    when 'verifying' then worker is not null and attempt > 0 and not_before is null and detail is not null
    -- One that took the result of another with the same idempotency key has made no attempt.
    when 'succeeded' then worker is null and not_before is null and detail is not null
      and (attempt > 0 or json_extract(detail, '$.outcome.takenFrom') is not null)
    when 'failed'    then worker is null and attempt > 0 and not_before is null and detail is not null
    when 'cancelled' then worker is null and not_before is null
    when 'skipped'   then worker is null and not_before is null and detail is not null
    when 'parked'    then worker is null and not_before is null and detail is not null
    else false
  end),
  check ((worker is null) = (expires_at is null) and (worker is null) = (token_hash is null)),
  check (lane is null or lane = 'critical' or lane = 'high' or lane = 'normal' or lane = 'low')
) strict, without rowid;

-- What happened, in pages: events of one run that follow each other and were written at once. A row for each event took a third of the
-- time that it takes to write a batch. Pages are only added, but for those of runs that are forgotten.
create table page (
  -- The positions of its first and its last event; those between are in it, too. No page is longer than this: a reader that looks for
  -- an event knows from its position where its page begins at the earliest.
  first  integer primary key check (first > 0),
  last   integer not null check (last >= first and last < first + 128),
  run    integer not null,
  -- A list of events, each a list: when, what kind, what else there is to say; and of a task its number, its version, its attempt.
  events text not null,
  sum    integer not null
) strict;

-- Which positions of the ledger went with runs that were forgotten, so that what is missing otherwise is noticed, and no position is
-- used again.
create table forgotten (
  first integer primary key,
  last  integer not null check (last >= first),
  sum   integer not null
) strict;

-- What must be there: a row that is missing, or is an older one, shows in these figures. One for each run, 0 for the whole ledger, and
-- numbers below that for the small tables, one each.
create table seal (
  run      integer primary key,
  -- The first and the last position in the ledger.
  first    integer not null,
  last     integer not null,
  -- Of all its task rows together; of a small table, the total of its sums.
  versions integer not null,
  sum      integer not null
) strict;

-- What people asked for and no scheduler has dealt with yet.
create table request (
  no   integer primary key autoincrement,
  at   integer not null,
  body text not null,
  sum  integer not null
) strict;

-- What earlier runs have shown about how long tasks take, in logarithms of milliseconds.
create table duration (
  plan     text not null,
  task     text not null,
  count    integer not null check (count > 0),
  mean_log real not null,
  sum      integer not null,
  primary key (plan, task)
) strict, without rowid;

-- How far the plan's own estimates were off.
create table estimate_error (
  plan           text primary key,
  count          integer not null check (count > 0),
  sum_of_squares real not null,
  sum            integer not null
) strict, without rowid;

create table session (
  id        text primary key,
  profile   text not null,
  state     text not null
    check (state = 'idle' or state = 'prompting' or state = 'busy' or state = 'stalled' or state = 'quarantined'),
  joined_at integer not null,
  seen_at   integer not null,
  losses    integer not null check (losses >= 0),
  sum       integer not null
) strict, without rowid;

-- What is on hold.
create table pause (
  scope text primary key,
  body  text not null,
  sum   integer not null
) strict, without rowid;

-- What a caller's key has led to: the same key is answered in the same way, and has no second effect.
create table answer (
  key  text primary key,
  at   integer not null,
  body text not null,
  sum  integer not null
) strict, without rowid;
create index answer_at on answer (at);

-- Which task has succeeded with an idempotency key, for as long as the store: tasks with the same key take its result.
create table done_key (
  key  text primary key,
  body text not null,
  sum  integer not null
) strict, without rowid;
