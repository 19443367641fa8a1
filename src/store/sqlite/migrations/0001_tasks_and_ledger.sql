-- Runs, their tasks, what happened to them, and who schedules.

create table meta (
  key   text primary key,
  value text not null
) strict, without rowid;

-- One row: the process that schedules for this store. The epoch only grows.
create table ownership (
  one   integer primary key check (one = 1),
  epoch integer not null,
  owner text
) strict;
insert into ownership (one, epoch, owner) values (1, 0, null);

create table run (
  no         integer primary key,
  id         text not null unique,
  name       text not null,
  digest     text not null,
  manifest   text not null,
  tasks      integer not null,
  state      text not null check (state in ('active', 'stalled', 'finished')),
  outcome    text check (outcome in ('succeeded', 'failed', 'cancelled')),
  ended_at   integer,
  cancelling integer not null check (cancelling in (0, 1)),
  check ((state = 'finished') = (outcome is not null)),
  check ((state = 'active') = (ended_at is null))
) strict;

-- What a task is: written once, never changed.
create table task_spec (
  run  integer not null references run (no),
  no   integer not null,
  id   text not null,
  spec text not null,
  primary key (run, no)
) strict, without rowid;

-- How a task is: there is a row once anything has happened to it. A task without one waits.
-- The law of the states is one CASE on purpose: a list after `in` is built anew for every row that is written, which
-- made writing three times as slow (10 against 3 microseconds a row).
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
  primary key (run, no),
  check (case state
    when 'waiting'   then worker is null
    when 'claimed'   then worker is not null and attempt > 0 and not_before is null
    when 'running'   then worker is not null and attempt > 0 and not_before is null
    when 'succeeded' then worker is null and attempt > 0 and not_before is null and detail is not null
    when 'failed'    then worker is null and attempt > 0 and not_before is null and detail is not null
    when 'cancelled' then worker is null and not_before is null
    when 'skipped'   then worker is null and not_before is null and detail is not null
    when 'parked'    then worker is null and not_before is null and detail is not null
    else false
  end),
  check ((worker is null) = (expires_at is null) and (worker is null) = (token_hash is null)),
  check (lane is null or lane = 'critical' or lane = 'high' or lane = 'normal' or lane = 'low')
) strict, without rowid;

-- What happened, in order. Only ever added to.
create table ledger (
  seq     integer primary key,
  at      integer not null,
  run     integer not null,
  task    integer,
  version integer,
  attempt integer,
  kind    text not null,
  data    text,
  check ((task is null) = (version is null)),
  check ((task is null) = (attempt is null))
) strict;

-- What people asked for and no scheduler has dealt with yet.
create table request (
  no   integer primary key autoincrement,
  at   integer not null,
  body text not null
) strict;

-- What earlier runs have shown about how long tasks take, in logarithms of milliseconds.
create table duration (
  plan     text not null,
  task     text not null,
  count    integer not null check (count > 0),
  mean_log real not null,
  primary key (plan, task)
) strict, without rowid;

-- How far the plan's own estimates were off.
create table estimate_error (
  plan           text primary key,
  count          integer not null check (count > 0),
  sum_of_squares real not null
) strict, without rowid;
