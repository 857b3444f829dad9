#!/usr/bin/env bash
# Builds the wheel, installs it into an empty environment for each supported Python that this machine has, and
# tries it there: a server, a job, a plan, the unit tests. PYTHONS="3.12 3.13" for some; these must be here if
# CI=true. Any other that is missing is named and left out. TESTS="tests/unit/model" for some of the tests.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

asked=${PYTHONS:-}
pythons=${asked:-3.11 3.12 3.13}

say() { echo "test-python: $*" >&2; }

folder=$(mktemp -d "${TMPDIR:-/tmp}/rota-pythons.XXXXXX")
server=
leave() {
    if [ -n "$server" ]; then
        kill "$server" 2>/dev/null || true
        wait "$server" 2>/dev/null || true
    fi
    rm -rf "$folder"
}
trap leave EXIT

find_python() { # VERSION
    local python
    # A shim of pyenv is on the PATH for versions that it won't run, so each is asked what it is.
    for python in "${PYENV_ROOT:-$HOME/.pyenv}/versions/$1".*/bin/python "python$1" python3; do
        if "$python" -c "import sys; sys.exit('%d.%d' % sys.version_info[:2] != '$1')" 2>/dev/null; then
            echo "$python"
            return
        fi
    done
    return 1
}

install() { # ENVIRONMENT ARGUMENTS…
    local environment=$1
    shift
    "$environment/bin/python" -m pip --disable-pip-version-check --no-input install --quiet "$@"
}

try_commands() { # ENVIRONMENT
    local rota=$1/bin/rota data=$1/data
    export ROTA_SERVER_DATA=$data ROTA_SERVER_PORT=0 XDG_CONFIG_HOME=$data/config
    export ROTA_WORKER_ALLOW_ROOT=true ROTA_WORKER_ISOLATION=none
    unset ROTA_CONFIG ROTA_URL ROTA_TOKEN ROTA_CONTEXT
    mkdir -p "$data"
    "$rota" server >"$data/server.log" 2>&1 &
    server=$!
    for _ in $(seq 300); do
        if [ -e "$data/server.json" ]; then break; fi
        if ! kill -0 "$server" 2>/dev/null; then break; fi
        sleep 0.1
    done
    if [ ! -e "$data/server.json" ]; then
        cat "$data/server.log" >&2
        say "rota server didn't start"
        exit 1
    fi
    "$rota" run -- true
    kill "$server"
    wait "$server" || true
    server=
    local status=0
    "$rota" plan examples/mixed/cluster.yaml examples/mixed/jobs.yaml \
        --policy examples/mixed/policy.yaml -o json >"$data/plan.json" || status=$?
    # 2: some of the example's jobs wait, as they should.
    if [ "$status" != 2 ]; then
        say "rota plan ended with $status"
        exit 1
    fi
    unset ROTA_SERVER_DATA ROTA_SERVER_PORT XDG_CONFIG_HOME ROTA_WORKER_ALLOW_ROOT ROTA_WORKER_ISOLATION
}

say "building the wheel"
.venv/bin/python -m pip --disable-pip-version-check wheel --quiet --no-deps --no-build-isolation \
    --wheel-dir "$folder" .
wheel=$(echo "$folder"/rota-*.whl)

tried=()
for version in $pythons; do
    if ! python=$(find_python "$version"); then
        if [ -n "$asked" ] && [ "${CI:-}" = true ]; then
            say "Python $version is not on this machine"
            exit 1
        fi
        say "Python $version is not on this machine: left out"
        continue
    fi
    say "Python $version: $("$python" --version)"
    environment=$folder/$version
    "$python" -m venv "$environment"
    install "$environment" --require-hashes --only-binary :all: -r constraints-runtime.txt
    install "$environment" --no-deps "$wheel"
    "$environment/bin/python" -m pip --disable-pip-version-check check
    try_commands "$environment"
    install "$environment" --require-hashes --only-binary :all: -r constraints.txt
    install "$environment" --no-deps --no-build-isolation ./examples/rota-plugin-example
    HYPOTHESIS_PROFILE=${HYPOTHESIS_PROFILE:-quick} "$environment/bin/python" -m pytest \
        -n auto --maxprocesses 8 --dist worksteal -q -p no:cacheprovider ${TESTS:-tests/unit}
    tried+=("$version")
    rm -rf "$environment"
done
if [ ${#tried[@]} = 0 ]; then
    say "none of these is on this machine: $pythons"
    exit 1
fi
say "passed on Python ${tried[*]}"
