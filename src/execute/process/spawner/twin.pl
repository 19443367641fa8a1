# The forker's twin, from which all processes are forked: a copy of the forker from before it had read the rest of its program.
#
# A fork costs by the pages of the one who forks, and then by every page that this one or the child writes to, since it has to be copied.
# The twin has half as many as the forker, does nothing but fork, and does it with as few variables as can be; what the forker writes to is
# copied for nobody. What it forks are its siblings and not its children, so that the forker can wait for them. It ends when the forker does.
use strict;

my ($CLONE, $EXECVE, $OPENAT, $CLOSE, $DUP3, $CHDIR, $SETSID, $SIGPROCMASK, $SIGTIMEDWAIT, $LOG_FLAGS);
# The same on every Linux.
my ($AT_FDCWD, $O_CLOEXEC) = (-100, 02000000);
my ($CLONE_PARENT, $SIGCHLD) = (0x8000, 17);
my ($SIG_BLOCK, $SIG_SETMASK, $SIGNALS_BYTES) = (0, 2, 8);
my ($EINTR, $EAGAIN) = (4, 11);
my ($TABLE_AT, $ARGV_IN_TABLE) = (8 * 5, 3);

# What the twin says of each order, in their turn: `pid`, or `log` or `fork` with the error. Its children say `exec` when they could not
# become what they should.
sub ANSWER { 'A4 i2' }
sub ANSWER_BYTES { 12 }

# A child that is to wait does so until it gets this signal, and looks now and then whether somebody is left who could send it.
my $go = pack 'Q', 1 << 10 - 1;
my $now_and_then = pack 'q2', 0, 50_000_000;
my $signals = "\0" x $SIGNALS_BYTES;
my $forker = $$;

# Its process, what to say to it, and what it says: pipes, because who reads from a socket wakes the one who wrote, for nothing. It is asked at
# once for a child that cannot become anything: whether that works is then known by the time the forker has read its program.
sub raise_twin {
  my ($numbers) = @_;
  my %number = map { split /=/ } split /,/, $numbers;
  ($CLONE, $EXECVE, $OPENAT, $CLOSE, $DUP3, $CHDIR, $SETSID, $SIGPROCMASK, $SIGTIMEDWAIT, $LOG_FLAGS) =
    map { $_ + 0 } @number{qw(clone execve openat close dup3 chdir setsid sigprocmask sigtimedwait logFlags)};
  pipe my $hears, my $orders or die "pipe: $!\n";
  pipe my $answers, my $says or die "pipe: $!\n";
  my $pid = fork;
  die "fork: $!\n" unless defined $pid;
  if ($pid) {
    syswrite $orders, twin_order(1, 0, '/dev/null', '/', '/', ['/'], []);
    return ($pid, $orders, $answers);
  }
  close $_ for $orders, $answers;
  fork_for($hears, $says);
  exit 0;
}

# An order as the twin wants it: numbers, and then the words. The numbers are how long it is, whether the child is to wait, how nice it is to
# be, how long the table is that follows, and where in it the variables begin. The table is of the places where words begin: the log, the
# directory and the file to run, then the command and the variables as the kernel wants them, each with a zero at its end.
sub twin_order {
  my ($waits, $nice, $log, $cwd, $file, $command, $variables) = @_;
  my @words = ($log, $cwd, $file, @$command, @$variables);
  my $end = $TABLE_AT + 8 * (@words + 2);
  my @places = map { my $place = $end; $end += 1 + length; $place } @words;
  my $envp = $ARGV_IN_TABLE + @$command + 1;
  splice @places, $envp - 1, 0, 0;
  return pack('q*', $end, $waits, $nice, @places + 1, $envp, @places, 0) . join "\0", @words, '';
}

# --- In the twin

# The order at hand: what was heard, its numbers, the table with the places in memory, where that lies itself, the log, and the child.
my ($heard, $length, $waits, $nice, $count, $envp, @places, $table, $table_at, $log, $pid) = ('');

# Until the forker is gone.
sub fork_for {
  my ($from, $to) = @_;
  # Whoever commands must learn that the forker is gone, and would not as long as this is open here.
  if (open my $master, '+<&=', 3) { close $master }
  # Not ignored: that would be passed on. What is sent to the whole group is for the forker to obey.
  $SIG{$_} = sub { } for qw(TERM INT HUP PIPE);
  # Perl ignores it, and would set it back only where it runs another program itself.
  $SIG{FPE} = 'DEFAULT';
  syscall $SIGPROCMASK, $SIG_BLOCK, $go, $signals, $SIGNALS_BYTES;
  while (1) {
    my $read = sysread $from, $heard, 65_536, length $heard;
    return unless $read || !defined $read && $! == $EINTR;
    while (length $heard >= $TABLE_AT && length $heard >= unpack 'q', $heard) {
      fork_one($to);
      substr $heard, 0, $length, '';
    }
  }
}

# Words are handed on by their places, since to take them out of the order would be to write to more pages. The log is closed before the
# answer: as long as it is open here, nobody can have it for another start.
sub fork_one {
  ($length, $waits, $nice, $count, $envp) = unpack 'q5', $heard;
  my $base = unpack 'J', pack 'p', $heard;
  @places = map { $_ && $_ + $base } unpack "x${TABLE_AT}q$count", $heard;
  $table = pack 'q*', @places;
  $table_at = unpack 'J', pack 'p', $table;
  $log = syscall $OPENAT, $AT_FDCWD, $places[0], $LOG_FLAGS | $O_CLOEXEC, 0600;
  return syswrite $_[0], pack ANSWER, 'log', 0, $! + 0 if $log < 0;
  $pid = syscall $CLONE, $CLONE_PARENT | $SIGCHLD, 0, 0, 0, 0;
  if ($pid == 0) {
    become();
    syswrite $_[0], pack ANSWER, 'exec', $$, $! + 0;
    exit 127;
  }
  my $answer = $pid < 0 ? pack ANSWER, 'fork', 0, $! + 0 : pack ANSWER, 'pid', $pid, 0;
  syscall $CLOSE, $log;
  syswrite $_[0], $answer;
}

# --- In the child

# Comes back only when it failed.
sub become {
  syscall $SETSID;
  syscall $DUP3, $log, 1, 0;
  syscall $DUP3, $log, 2, 0;
  # A wish, not a promise: where it is refused the task runs as it is.
  setpriority 0, 0, $nice if $nice;
  wait_to_go() if $waits;
  syscall $SIGPROCMASK, $SIG_SETMASK, $signals, undef, $SIGNALS_BYTES;
  return if syscall($CHDIR, $places[1]) < 0;
  syscall $EXECVE, $places[2], $table_at + 8 * $ARGV_IN_TABLE, $table_at + 8 * $envp;
  become_by_name();
}

sub wait_to_go {
  while (syscall($SIGTIMEDWAIT, $go, undef, $now_and_then, $SIGNALS_BYTES) < 0) {
    # Where it cannot wait it must not run either.
    kill 'KILL', $$ if getppid != $forker || $! != $EAGAIN && $! != $EINTR;
  }
}

# What the kernel does not do, the C library may: look further where a file cannot be run, or run a script that does not say by what.
sub become_by_name {
  my @words = unpack '(Z*)*', substr $heard, $TABLE_AT + 8 * $count, $length - $TABLE_AT - 8 * $count;
  my @command = splice @words, $ARGV_IN_TABLE, $envp - $ARGV_IN_TABLE - 1;
  splice @words, 0, $ARGV_IN_TABLE;
  %ENV = map { split /=/, $_, 2 } @words;
  { exec { $command[0] } @command }
}

1;
