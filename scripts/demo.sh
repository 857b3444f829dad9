#!/usr/bin/env bash
# Plans a mixed example cluster and asks about three of its jobs. `make demo` puts rota on the PATH.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../examples/mixed"

bold='' dim='' plain=''
if [ -t 1 ]; then
    bold=$'\e[1m' dim=$'\e[2m' plain=$'\e[0m'
    if [ -z "${NO_COLOR:-}" ]; then export FORCE_COLOR=1; fi
fi

chapter() { # TITLE
    printf '\n%s── %s%s\n' "$bold" "$1" "$plain"
}

show() { # COMMAND…
    printf '%s$ %s%s\n\n' "$dim" "$*" "$plain"
    local status=0
    "$@" || status=$?
    # 2 says that something waits or is refused, which is part of the show.
    if [ "$status" != 0 ] && [ "$status" != 2 ]; then exit "$status"; fi
}

files=(cluster.yaml jobs.yaml --policy policy.yaml)

chapter 'What would run where, and what waits'
show rota plan "${files[@]}"

chapter 'Why a job was placed where it was'
show rota why search "${files[@]}"

chapter 'Why a job waits, until when, and what would help'
show rota why caption "${files[@]}"

chapter 'Whether a job may run longer'
show rota extend notebook-ada +4h "${files[@]}"

chapter 'How to go on'
cat <<'END'
The files are in examples/mixed: change them and plan again.

  source .venv/bin/activate
  cd examples/mixed
  rota plan cluster.yaml jobs.yaml --policy policy.yaml -o wide
  rota why archive cluster.yaml jobs.yaml --policy policy.yaml
  rota plan cluster.yaml jobs.yaml -o json
  cd ../day
  rota sim compare -w workload.yaml -c cluster.yaml -p fifo.yaml -p easy.yaml -p learnt.yaml --report /tmp/day
  rota --help
END
