# Which process this is (rota_pid), and when it was started (rota_since). No other process is asked where there is /proc.
rota_fields() { rota_state=$1 rota_since=${20}; }
# The same of another process. The name in parentheses may hold spaces and parentheses, so fields are counted from the last one.
rota_look() {
  read -r rota_line 2>/dev/null < "/proc/$1/stat" || return
  rota_pid=${rota_line%% *}
  rota_fields ${rota_line##*) }
}
rota_self() {
  rota_look self && return
  rota_pid=$(exec sh -c 'echo $PPID')
  rota_since=$(ps -o lstart= -p "$rota_pid")
}
