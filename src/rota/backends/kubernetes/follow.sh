# Prints what the task has written since the offsets $2 and $3, and goes on until it has ended; with $4 it
# only prints what there is. First a line that says when the task began.
cd "$1" || exit 1
idle=0
rest() { # longer and longer while nothing comes
    if [ $idle -lt 10 ]; then sleep 0.05; elif [ $idle -lt 40 ]; then sleep 0.2; else sleep 0.5; fi
    idle=$((idle + 1))
}
until [ -f begun ] || [ -f ended ] || [ -n "$4" ]; do rest; done
if [ -f begun ]; then read -r began <begun; else began=-; fi
echo "begun $began"
exec 3<out 4<err
[ "$2" -eq 0 ] || dd bs="$2" skip=1 count=0 <&3 2>/dev/null
[ "$3" -eq 0 ] || dd bs="$3" skip=1 count=0 <&4 2>/dev/null
seen=
while :; do
    last=$4
    [ -f ended ] && last=1
    size=$(stat -c %s out err)
    if [ "$size" != "$seen" ]; then
        seen=$size
        idle=0
        cat <&3
        cat <&4 >&2
    fi
    [ -z "$last" ] || exit 0
    rest
done
