#!/usr/bin/env bash
# Starts a Docker on a build host where the usual one can't run: it makes no bridge and leaves the firewall alone.
#
#     eval "$(hack/start-dockerd.sh)"          # starts it, unless it runs, and says where it listens
#     docker build --network host -t batch-scheduler .
#     hack/start-dockerd.sh --stop
#
# Containers have the host's network (--network host) or none. Everything is kept in ROTA_DOCKER_FOLDER, which is
# ~/.cache/rota/dockerd unless it is given; a Docker that runs already isn't touched. Needs root.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
folder=${ROTA_DOCKER_FOLDER:-${XDG_CACHE_HOME:-$HOME/.cache}/rota/dockerd}
pid_file=$folder/dockerd.pid
export DOCKER_HOST=unix://$folder/docker.sock

runs() { [[ -e $pid_file ]] && [[ $(ps -o comm= -p "$(<"$pid_file")" 2>/dev/null) == dockerd ]]; }

case ${1:-} in
    "") ;;
    --stop)
        if runs; then
            pid=$(<"$pid_file")
            kill "$pid"
            while kill -0 "$pid" 2>/dev/null; do sleep 0.1; done
            # It leaves the network that it lent to containers.
            umount "$folder"/exec/netns/* 2>/dev/null || true
        fi
        exit
        ;;
    *)
        echo "usage: hack/start-dockerd.sh [--stop]" >&2
        exit 2
        ;;
esac

if [[ $(id -u) != 0 ]]; then
    echo "only root can start a Docker" >&2
    exit 1
fi
"$here/../scripts/docker.sh"
mkdir -p "$folder"
if ! runs; then
    setsid dockerd --host "$DOCKER_HOST" --data-root "$folder/data" --exec-root "$folder/exec" --pidfile "$pid_file" \
        --iptables=false --ip6tables=false --bridge=none >"$folder/log" 2>&1 </dev/null &
    for _ in {1..300}; do
        if docker info >/dev/null 2>&1; then break; fi
        sleep 0.2
    done
fi
if ! docker info >/dev/null 2>&1; then
    # One that fails leaves its folder mounted.
    umount "$folder/data" 2>/dev/null || true
    tail -n 20 "$folder/log" >&2
    echo "Docker doesn't start; all it said is in $folder/log" >&2
    exit 1
fi
echo "export DOCKER_HOST=$DOCKER_HOST"
# It neither knows nor needs the newer way to build.
echo "export DOCKER_BUILDKIT=0"
