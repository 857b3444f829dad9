#!/usr/bin/env bash
# Prints the folder of PostgreSQL's programs, for the tests; installs it first if it is missing and we may.
set -euo pipefail

newest() { ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1; }

folder=$(newest)
if [[ -z $folder && $(id -u) == 0 ]] && command -v apt-get >/dev/null; then
    {
        apt-get update -q
        DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends postgresql
    } >&2
    folder=$(newest)
fi
if [[ -z $folder ]] && command -v initdb >/dev/null; then
    folder=$(dirname "$(readlink -f "$(command -v initdb)")")
fi
if [[ -z $folder ]]; then
    echo "PostgreSQL is missing: apt-get install postgresql" >&2
    exit 1
fi
echo "$folder"
