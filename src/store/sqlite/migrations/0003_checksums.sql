-- breaking
-- A checksum in every row, and a seal for every run: what was changed or lost under us is noticed, and not believed.
-- The sums of rows that are there already are written by the store, in the same transaction.

alter table meta add column sum integer not null default 0;
alter table ownership add column sum integer not null default 0;
alter table run add column sum integer not null default 0;
alter table task_spec add column sum integer not null default 0;
alter table task add column sum integer not null default 0;
alter table ledger add column sum integer not null default 0;
alter table request add column sum integer not null default 0;
alter table duration add column sum integer not null default 0;
alter table estimate_error add column sum integer not null default 0;
alter table session add column sum integer not null default 0;
alter table pause add column sum integer not null default 0;
alter table answer add column sum integer not null default 0;

-- What a run must have: a row that is missing, or is an older one, shows in these figures. Run 0 stands for the whole ledger.
create table seal (
  run      integer primary key,
  -- The first and the last position in the ledger.
  first    integer not null,
  last     integer not null,
  -- Of all its task rows together.
  versions integer not null,
  sum      integer not null
) strict;
