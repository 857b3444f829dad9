# The runner's first process, in the user's image: POSIX sh, and of programs only sleep.
# Arguments: folder, time limit and latest end (1/100 s, or -), grace (1/100 s), signal that warns and how long
# before (1/100 s, 0: never), directory, files for output and errors, whether to begin these
# anew, then the command.
# Tells how it ended in /dev/termination-log: "exited CODE CAUSE BEGAN ENDED" or "unstarted WHY".
d=$1 limit=$2 latest=$3 grace=$4 warn=$5 warn_before=$6 directory=$7 out=$8 err=$9
shift 9
fresh=$1
shift
log=${ROTA_TERMINATION_LOG:-/dev/termination-log}
unset ROTA_TERMINATION_LOG

# Times are in 1/100 s since 1970, by the node's clock when it was booted: the same for all tasks of a node.
boot=0
while read -r key value _; do [ "$key" = btime ] && boot=$value; done </proc/stat
look() { read -r up _ </proc/uptime; now=$(((boot + ${up%.*}) * 100 + 1${up#*.} - 100)); }
unstarted() { printf 'unstarted %s' "$*" >"$log"; : >"$d/ended"; exit 127; }
pause() { # in 1/100 s
    if [ -n "$whole" ]; then sleep $((($1 + 99) / 100)); else sleep "$(($1 / 100)).$(($1 % 100 / 10))$(($1 % 10))"; fi
}
whole=
sleep 0.01 2>/dev/null || whole=1

cd "$directory" 2>/dev/null || unstarted "there is no directory $directory in this image"
case $1 in
    */*) [ -f "$1" ] || unstarted "$1: there is no such program in this image"
         [ -x "$1" ] || unstarted "$1: it may not be executed" ;;
    *) command -v "$1" >/dev/null 2>&1 || unstarted "$1: there is no such program in this image" ;;
esac
for file in "$out" "$err"; do
    (if [ -n "$fresh" ]; then : >"$file"; else : >>"$file"; fi) 2>/dev/null ||
        unstarted "$file: it can't be written to"
done

cause=- child=
all() { if [ $$ -eq 1 ]; then echo -1; else echo "$child"; fi; } # Nobody else is in a container of its own.
end() { # first they are asked to, then made to
    [ "$cause" = - ] || return 0
    cause=$1
    kill -TERM $(all) 2>/dev/null
    (trap '' TERM; pause "$grace"; kill -KILL $(all) 2>/dev/null) &
}
trap '[ -f "$d/stop" ] && end stop || end terminated' TERM
trap 'end time-limit' ALRM

look
began=$now
if [ "$latest" != - ] && [ "$latest" -le "$now" ]; then
    printf 'exited 143 time-limit %s %s' "$began" "$now" >"$log"
    : >"$d/ended"
    exit 143
fi
[ "$limit" = - ] || [ -f "$d/limit" ] || echo "$limit" >"$d/limit"
(exec "$@" </dev/null >>"$out" 2>>"$err") &
child=$!
echo "$began" >"$d/begun.new" && mv "$d/begun.new" "$d/begun"

[ -f "$d/stop" ] && end stop # It may have come before anybody here heeded it.

( # The timer. The limit may change while the task runs.
    trap '' TERM
    warned=
    while :; do
        look
        left=100000000
        [ "$latest" = - ] || left=$((latest - now))
        if [ -f "$d/limit" ] && read -r limit <"$d/limit"; then
            [ $((began + limit - now)) -lt $left ] && left=$((began + limit - now))
        fi
        if [ $left -le 0 ]; then
            kill -ALRM $$
            exit
        fi
        if [ "$warn_before" -gt 0 ] && [ $left -le "$warn_before" ] && [ -z "$warned" ]; then
            warned=1
            kill -s "$warn" $child 2>/dev/null
        fi
        [ "$warn_before" -gt 0 ] && [ -z "$warned" ] && left=$((left - warn_before))
        [ $left -gt 50 ] && left=50
        pause $left
    done
) &

while :; do
    wait $child
    code=$?
    # A signal of ours ends the waiting, not the child.
    [ $code -gt 128 ] && kill -0 $child 2>/dev/null || break
done
look
printf 'exited %s %s %s %s' $code $cause "$began" "$now" >"$log"
: >"$d/ended"
exit $code
