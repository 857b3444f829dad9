#!/usr/bin/env bash
# Installs Slurm and munge for the benchmarks, if they are missing and we may; says so if not.
set -euo pipefail

there() { command -v slurmctld && command -v slurmd && command -v munged; } >/dev/null

if ! there && [[ $(id -u) == 0 ]] && command -v apt-get >/dev/null; then
    {
        # Their daemons are started by whoever needs them, with settings of their own.
        apt-get update -q
        RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends slurm-wlm munge
    } >&2
fi
if ! there; then
    echo "Slurm is missing: apt-get install slurm-wlm munge" >&2
    exit 1
fi
