# The logs of what the forker starts. Those of successes that printed nothing are used again under another name: where many files
# were removed lately, making one costs more than the start.
use strict;

my ($AT_FDCWD, $O_CLOEXEC, $F_SETLEASE, $F_WRLCK, $RENAME_NOREPLACE) = (-100, 02000000, 1_024, 1, 1);
my ($ENOENT, $EEXIST) = (2, 17);
my $SPARES_MAX = 16;

my ($calls, $flags, @names, @spares);

# The numbers of calls, what a log is opened with, and what the names of spare ones begin with.
sub set_up_logs {
  ($calls, $flags) = ($_[0], $_[1] | $O_CLOEXEC);
  @names = map { "$_[2].spare-$_" } 1 .. $SPARES_MAX;
}

sub spare_logs { @spares }

# A descriptor, or less than zero, with the error that says why. A log that is there already is gone on with.
sub open_log {
  my ($path) = @_;
  my $is_used = @spares && syscall($calls->{renameat2}, $AT_FDCWD, $spares[-1], $AT_FDCWD, $path, $RENAME_NOREPLACE) == 0;
  pop @spares if $is_used;
  my $log = syscall $calls->{openat}, $AT_FDCWD, $path, $flags, 0600;
  return $log unless $log < 0 && $! == $ENOENT;
  my @parts = split m{/}, $path;
  for (1 .. $#parts - 1) {
    my $folder = join '/', @parts[0 .. $_];
    # What is inside of one that cannot be made is missing too, and would only hide why.
    return -1 unless -d $folder || mkdir($folder, 0700) || $! == $EEXIST;
  }
  return syscall $calls->{openat}, $AT_FDCWD, $path, $flags, 0600;
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
