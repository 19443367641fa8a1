#!/bin/sh
# An agent in a few lines: joins a pool, claims what there is, has a command do it, and reports.
#
#   agent.sh POOL COMMAND...      such as: agent.sh writers claude -p
#
# The command gets the prompt on standard input. What it prints is the summary; a bad exit code is a failure. PATIENCE says how long
# to wait for the next task (10m), CAPABILITY what it can do beside the usual.
set -eu
pool=$1
shift

ROTA_SESSION=$(rota session join --agent script --pool "$pool" ${CAPABILITY:+--capability "$CAPABILITY"})
export ROTA_SESSION
answer=$(mktemp)
trap 'rm -f "$answer"; rota session leave > /dev/null' EXIT

# Ends when nothing came in time. The token is in no variable: it is kept in a file that is ours alone.
while work=$(rota claim --wait "${PATIENCE:-10m}" --env); do
  eval "$work"
  echo "$ROTA_TASK: attempt $ROTA_ATTEMPT"
  (cd "$ROTA_DIRECTORY" && printf '%s\n' "$ROTA_PROMPT" | "$@") > "$answer" 2>&1 &
  doing=$!
  # Keeps the task ours while it is worked on. Ends the work when it was cancelled, or when it is no longer ours.
  (rota heartbeat "$ROTA_TASK" --every 1m > /dev/null || kill "$doing") &
  if wait "$doing"; then
    rota complete "$ROTA_TASK" --summary "$(head -c 4000 "$answer")" --wait 5m
  else
    # Whether it is tried again is not ours to decide, and a task that was taken from us is not ours to report on.
    rota fail "$ROTA_TASK" --code "$?" --message "$(tail -c 1000 "$answer")" --wait 5m || true
  fi
done
