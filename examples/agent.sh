#!/bin/sh
# An agent in one line: joins a pool, claims what there is, has a command do it, and reports.
#
#   agent.sh POOL COMMAND...      such as: agent.sh writers claude -p --permission-mode acceptEdits
#
# The command gets the prompt on standard input. What it prints is the summary; a bad exit code is a failure. PATIENCE says how long
# to wait for the next task (10m), CAPABILITY what it can do beside the usual. `rota help work` says what happens at a cancel or a signal.
set -eu
pool=$1
shift
exec rota work --agent script --pool "$pool" --wait "${PATIENCE:-10m}" ${CAPABILITY:+--capability "$CAPABILITY"} -- "$@"
