-- breaking
-- Commits are entered in a file of their own first, the daybook, and posted to these tables a while later, many at once. Which daybook
-- is in use, and the last of its entries that is in the tables. A version that knows nothing of it would not see what is entered there.

create table daybook (
  one    integer primary key check (one = 1),
  book   text,
  posted integer not null check (posted >= 0),
  sum    integer not null
) strict;
insert into daybook (one, book, posted, sum) values (1, null, 0, -881617410);
