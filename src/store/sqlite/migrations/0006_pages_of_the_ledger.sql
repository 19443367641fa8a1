-- breaking
-- What happened, in pages: events of one run that follow each other and were written at once. A row for each event took a third of the
-- time that it takes to write a batch. What is in the ledger already is copied by the store, in the same transaction.

create table page (
  -- The positions of its first and its last event; those between are in it, too. No page is longer than this: who looks for an event
  -- knows from its position where its page begins at the earliest.
  first  integer primary key check (first > 0),
  last   integer not null check (last >= first and last < first + 128),
  run    integer not null,
  -- A list of events, each a list: when, what kind, what else there is to say; and of a task its number, its version, its attempt.
  events text not null,
  sum    integer not null
) strict;
