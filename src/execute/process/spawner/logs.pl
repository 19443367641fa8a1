# The logs of what the forker starts. Those of successes that printed nothing are used again under another name: where many files
# were removed lately, making one costs more than the start.
use strict;

my ($AT_FDCWD, $O_CLOEXEC, $F_SETLEASE, $F_WRLCK, $RENAME_NOREPLACE) = (-100, 02000000, 1_024, 1, 1);
my $EEXIST = 17;
my $SPARES_MAX = 16;

my ($calls, $flags, @names, @spares);

# The numbers of calls, among them what a log is opened with, and what the names of spare ones begin with.
sub set_up_logs {
  my ($numbers, $prefix) = @_;
  ($calls, $flags) = ($numbers, $numbers->{logFlags} | $O_CLOEXEC);
  @names = map { "$prefix.spare-$_" } 1 .. $SPARES_MAX;
}

sub spare_logs { @spares }

# Sees to it that a log can be opened: a spare one takes its name, or there is a folder to make it in. Nothing, with the error, where
# there can be none. A log that is there already is gone on with.
sub make_room {
  my ($path) = @_;
  return pop @spares if @spares && syscall($calls->{renameat2}, $AT_FDCWD, $spares[-1], $AT_FDCWD, $path, $RENAME_NOREPLACE) == 0;
  return 1 if -d substr $path, 0, rindex $path, '/';
  my @parts = split m{/}, $path;
  for (1 .. $#parts - 1) {
    my $folder = join '/', @parts[0 .. $_];
    # What is inside of one that cannot be made is missing too, and would only hide why.
    return undef unless -d $folder || mkdir($folder, 0700) || $! == $EEXIST;
  }
  return 1;
}

# Takes back a log that is empty and that nobody can write to any more: a lease is given only where no other has the file open.
sub take_back {
  my ($path) = @_;
  return unless -z $path && @spares < $SPARES_MAX;
  my $log = syscall $calls->{openat}, $AT_FDCWD, $path, $flags, 0600;
  return if $log < 0;
  my $is_free = syscall($calls->{fcntl}, $log, $F_SETLEASE, $F_WRLCK) == 0;
  syscall $calls->{close}, $log;
  return unless $is_free && -z $path;
  my %used = map { $_ => 1 } @spares;
  my ($name) = grep { !$used{$_} } @names;
  push @spares, $name if rename $path, $name;
}

1;
