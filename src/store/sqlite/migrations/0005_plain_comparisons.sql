-- The same laws, as plain comparisons: a list after `in` is built anew for every row that is written, which took as long as all the rest
-- of writing it (a run 52 against 27 microseconds).

create table new_run (
  no         integer primary key,
  id         text not null unique,
  name       text not null,
  digest     text not null,
  manifest   text not null,
  tasks      integer not null,
  state      text not null check (state = 'active' or state = 'stalled' or state = 'finished'),
  outcome    text check (outcome = 'succeeded' or outcome = 'failed' or outcome = 'cancelled'),
  ended_at   integer,
  cancelling integer not null check (cancelling = 0 or cancelling = 1),
  sum        integer not null default 0,
  check ((state = 'finished') = (outcome is not null)),
  check ((state = 'active') = (ended_at is null))
) strict;
insert into new_run (no, id, name, digest, manifest, tasks, state, outcome, ended_at, cancelling, sum)
  select no, id, name, digest, manifest, tasks, state, outcome, ended_at, cancelling, sum from run;
drop table run;
alter table new_run rename to run;
create index run_unfinished on run (no) where state <> 'finished';

create table new_session (
  id        text primary key,
  profile   text not null,
  state     text not null
    check (state = 'idle' or state = 'prompting' or state = 'busy' or state = 'stalled' or state = 'quarantined'),
  joined_at integer not null,
  seen_at   integer not null,
  losses    integer not null check (losses >= 0),
  sum       integer not null default 0
) strict, without rowid;
insert into new_session (id, profile, state, joined_at, seen_at, losses, sum)
  select id, profile, state, joined_at, seen_at, losses, sum from session;
drop table session;
alter table new_session rename to session;
