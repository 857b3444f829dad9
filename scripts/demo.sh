#!/usr/bin/env bash
# Starts a server with a database and a worker for this machine in a folder of its own, runs a small mixed
# workload, and shows it until it is done. `make demo` puts rota on the PATH.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../examples/live"

bold='' dim='' plain=''
if [ -t 1 ]; then
    bold=$'\e[1m' dim=$'\e[2m' plain=$'\e[0m'
    if [ -z "${NO_COLOR:-}" ]; then export FORCE_COLOR=1; fi
fi

folder=$(mktemp -d "${TMPDIR:-/tmp}/rota-demo.XXXXXX")
# Four cores, whatever this machine has: the demo is about who gets them.
export ROTA_SERVER_DATA=$folder ROTA_SERVER_PORT=0 ROTA_WORKER_NAME=here ROTA_WORKER_CPUS=4
export ROTA_CONFIG='' XDG_CONFIG_HOME=$folder/config
# Whoever tries it as root, in a container say, sees their own jobs run as root.
export ROTA_WORKER_ALLOW_ROOT=true ROTA_WORKER_ISOLATION=none
unset ROTA_CONFIG ROTA_URL ROTA_TOKEN ROTA_CONTEXT

rota server --policy policy.yaml >"$folder/server.log" 2>&1 &
server=$!
leave() {
    kill "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
    rm -rf "$folder"
}
trap leave EXIT

for _ in $(seq 600); do
    if [ -e "$folder/server.json" ]; then break; fi
    if ! kill -0 "$server" 2>/dev/null; then cat "$folder/server.log" >&2; exit 1; fi
    sleep 0.1
done

chapter() { # TITLE
    printf '\n%s── %s%s\n' "$bold" "$1" "$plain"
}

show() { # COMMAND…
    local shown='' word
    for word in "$@"; do
        case $word in *[!A-Za-z0-9_./:=-]*) word="'$word'" ;; esac
        shown+=" $word"
    done
    printf '%s$%s%s\n' "$dim" "$shown" "$plain"
    local status=0
    "$@" || status=$?
    # 1 and 2 say that something is refused or waits, which is part of the show.
    if [ "$status" -gt 2 ]; then exit "$status"; fi
}

chapter 'A command as a job: submitted, followed, and its exit status passed on'
show rota run --name hello -- echo 'hello from a job'

chapter 'Work that fills all four cores, and can wait'
show rota submit morning.yaml
sleep 1

chapter 'Something urgent takes its place; an array and a gang of four wait for theirs'
show rota submit later.yaml
show rota why simulation

chapter 'Somebody at a desk is promised a start'
show rota submit --name notebook --queue desk --cpus 3 --time 10s -- sh -c 'echo ready; sleep 2'
sleep 1
show rota eta notebook

chapter 'What can never start is refused'
show rota submit --gpus 8 -- ./train

chapter 'Until all is done'
show rota watch --until-done

chapter 'What became of it'
show rota ls --all
show rota logs simulation
show rota show reindex

chapter 'How to go on'
cat <<'END'
  source .venv/bin/activate
  rota server                      # in a terminal of its own; jobs and database stay in ~/.local/share/rota
  rota run -- hostname
  rota submit --array 0-9 --cpus 1 --time 5m -- sh -c 'echo $ROTA_ARRAY_INDEX'
  rota ls; rota why JOB; rota eta JOB; rota top
  rota plan examples/mixed/cluster.yaml examples/mixed/jobs.yaml   # what would be, on files alone
  rota --help
END
