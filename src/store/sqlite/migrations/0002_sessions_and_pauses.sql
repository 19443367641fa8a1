-- Agents' sessions, what is on hold, and which requests have been answered already.

create table session (
  id        text primary key,
  profile   text not null,
  state     text not null check (state in ('idle', 'prompting', 'busy', 'stalled', 'quarantined')),
  joined_at integer not null,
  seen_at   integer not null,
  losses    integer not null check (losses >= 0)
) strict, without rowid;

create table pause (
  scope text primary key,
  body  text not null
) strict, without rowid;

-- What a caller's key has led to: the same key is answered in the same way, and has no second effect.
create table answer (
  key  text primary key,
  at   integer not null,
  body text not null
) strict, without rowid;
create index answer_at on answer (at);
