#!/usr/bin/env bash
# Sees to it that Docker, its compose command and debootstrap are there, for the tests of deploy/. Installs them
# only where CI=true: a daemon changes the firewall of its host.
set -euo pipefail

complete() {
    command -v dockerd >/dev/null && command -v debootstrap >/dev/null &&
        { docker compose version || docker-compose version; } >/dev/null 2>&1
}

if ! complete && [[ ${CI:-} == true && $(id -u) == 0 ]]; then
    {
        apt-get update -q
        DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
            docker.io docker-compose debootstrap
    } >&2
fi
if ! complete; then
    echo "Docker is missing: apt-get install docker.io docker-compose debootstrap" >&2
    exit 1
fi
