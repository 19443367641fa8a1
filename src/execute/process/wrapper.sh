# A wrapper runs one attempt after the other. Each is ordered by a line of its input, which goes on with this script (order.ts). It says
# `up` when one runs, `bad` when one could not be begun, and `down` with the exit code when one has ended. Before that it has written the
# code into the attempt's directory, where a later scheduler finds it. Between two attempts it ends with its input.
#
# Given: rota_slot, the file that says what is run here; rota_boot, which names this start of the machine.
exec 2>&1
# Neither a request to end nor a scheduler that is gone may cost the outcome. (What is trapped so is not ignored by the attempts.)
trap : TERM INT HUP PIPE
# Where there is no setsid, the shell gives each attempt a group of its own.
rota_setsid=$(command -v setsid) || set -m
rota_self
rota_own="$rota_boot $rota_pid $rota_since"

# From here on a later scheduler finds what is run here. $1: the attempt's directory.
rota_open() {
  rota_dir=$1
  { printf '%s\n' "$rota_own" "$1"; times; } > "$rota_slot"
}

# In the process that becomes the command. Whoever creates `begun` decides whether it runs. $1: where it runs.
rota_begin() {
  trap 'printf "bad %s\n" "$rota_step"' EXIT
  rota_step=directory
  cd "$1" || exit
  # A shell adds these, and the attempt is to have what it was given.
  unset PWD OLDPWD SHLVL
  rota_self
  rota_step=begun
  set -C
  printf '%s\n' "$rota_boot $rota_pid $rota_since" > "$rota_dir/begun" || exit
  # It has begun, whether the scheduler still listens or not.
  trap '' PIPE
  printf 'up %s\n' "$rota_pid $rota_since"
  trap - PIPE EXIT
}

# $1: the exit code.
rota_close() {
  { printf '%s\n' "$1"; times; } > "$rota_dir/outcome"
  times
  printf 'down %s\n' "$1"
}

# Nothing was begun, since no later scheduler could have found it.
rota_refuse() {
  echo bad slot
  times
  echo down 1
}

rota_open '' || exit
