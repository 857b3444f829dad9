# Puts everything in place before the runner starts. Arguments: folder, the shim, the hosts of all tasks, and
# whether files are yet to come; /rota/payload may hold a script.
set -eu
umask 0
d=$1
mkdir -p "$d"
printf '%s' "$2" >"$d/shim"
printf '%s' "$3" >"$d/hosts"
: >"$d/out"
: >"$d/err"
rm -f "$d/stop" "$d/limit" "$d/begun" "$d/ended"
if [ -f "${5:-/rota/payload}/script" ]; then
    cp "${5:-/rota/payload}/script" "$d/script"
    chmod 755 "$d/script"
fi
if [ -n "$4" ]; then
    until [ -f "$d/staged" ]; do sleep 0.1; done
fi
