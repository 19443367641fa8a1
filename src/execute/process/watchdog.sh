# The watchdog reads this script until the scheduler is gone, which ends it, and then waits for the next one, which takes the directory away.
# Where none comes in time it ends what still runs: TERM, the grace, KILL, to the groups of the attempts and to every process that carries
# the mark of the state directory.
#
# Given: rota_home, the scheduler's directory; rota_mark; how often to look before the lease and before the grace is over (rota_lease,
# rota_grace), and how many seconds lie between two looks (rota_step).
trap : TERM INT HUP

# Whether process $1 still is the one that was started at $2.
rota_runs() {
  if rota_look "$1"; then
    [ "$rota_state" != Z ] || return
  else
    rota_since=$(ps -o lstart= -p "$1" 2>/dev/null)
  fi
  [ "$rota_since" = "$2" ]
}

# Signals all that is left, and says whether that was anything.
rota_signal() {
  rota_found=1
  for rota_slot in "$rota_home"/slot-*; do
    { read -r rota_own && read -r rota_dir; } 2>/dev/null < "$rota_slot" || continue
    read -r rota_boot rota_group rota_begun 2>/dev/null < "$rota_dir/begun" || continue
    rota_runs "$rota_group" "$rota_begun" || continue
    : > "$rota_dir/stopped"
    kill -s "$1" -- "-$rota_group" 2>/dev/null && rota_found=0
  done
  for rota_file in $(grep -ls "$rota_mark" /proc/[0-9]*/environ 2>/dev/null); do
    rota_pid=${rota_file#/proc/}
    kill -s "$1" "${rota_pid%/*}" 2>/dev/null && rota_found=0
  done
  return $rota_found
}

# Whether it is still this watchdog's to end it. No longer where another scheduler has taken the directory away, but it is where the whole
# state directory is being removed: then no scheduler will come.
rota_mine() {
  [ -d "$rota_home" ] && return
  sleep "$rota_step"
  [ ! -d "${rota_home%/*}" ]
}

# Looks $1 times, and fails as soon as there is nothing to wait for any more.
rota_wait() {
  rota_looks=$1
  while [ "$rota_looks" -gt 0 ] && rota_mine; do
    sleep "$rota_step"
    rota_looks=$((rota_looks - 1))
    [ "$2" = lease ] || rota_signal 0 || return
  done
  rota_mine
}

rota_end() {
  rota_wait "$rota_lease" lease || exit
  rota_signal TERM || exit
  rota_signal CONT
  rota_wait "$rota_grace" grace || exit
  while rota_mine && rota_signal KILL; do
    sleep "$rota_step"
  done
}
trap rota_end EXIT
