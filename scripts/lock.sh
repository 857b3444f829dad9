#!/usr/bin/env bash
# Pins all dependencies with hashes, for every platform and Python that Rota supports.
# Versions that still fit are kept; `make lock ARGS=--upgrade` takes the newest.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# What writes the pins is not pinned itself: its result is, and is reviewed like code.
.venv/bin/python -m pip --disable-pip-version-check install --quiet uv

compile() { # OUTPUT ARGUMENTS…
    local output=$1
    shift
    .venv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate \
        --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" \
        --group build --output-file "$output" "$@" pyproject.toml
}
compile constraints.txt --group dev "$@"
compile constraints-runtime.txt --constraints constraints.txt "$@"
compile constraints-docs.txt --constraints constraints.txt --group docs "$@"

# An address in a lock file ties the project to one registry, and may hold a secret.
if grep -nE '://|@|^[[:space:]]*(-i|-f|--(extra-)?index|--find-links|--trusted-host|/)' constraints*.txt; then
    echo "lock: the lines above hold an address" >&2
    exit 1
fi
