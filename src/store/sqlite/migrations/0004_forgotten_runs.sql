-- breaking
-- Runs that ended long ago may be forgotten. Which positions of the ledger went with them is kept, so that what is missing otherwise
-- is still noticed, and so that no position is used again.

create table forgotten (
  first integer primary key,
  last  integer not null check (last >= first),
  sum   integer not null
) strict;

-- Few of the runs there are have not ended: whoever goes on with those need not look through all of them.
create index run_unfinished on run (no) where state <> 'finished';
