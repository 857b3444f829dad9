#!/usr/bin/env bash
# Makes .venv ready: "run" installs what Rota needs, "dev" (the default) also what its tests need, and "docs"
# what builds the documentation, which may be installed beside the others.
# Every make target calls this; when nothing changed since the last time, it ends at once.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

level=${1:-dev}
case $level in
    run) pins=constraints-runtime.txt ;;
    dev) pins=constraints.txt ;;
    docs) pins=constraints-docs.txt ;;
    *) echo "usage: scripts/setup.sh [run|dev|docs]" >&2; exit 2 ;;
esac
venv=$PWD/.venv
example=examples/rota-plugin-example

say() { echo "setup: $*" >&2; }

inputs() {
    pwd
    cat pyproject.toml constraints.txt constraints-runtime.txt constraints-docs.txt scripts/setup.sh
    cat "$example/pyproject.toml" 2>/dev/null || true
}
digest=$(inputs | sha256sum)

ready() { # LEVEL
    [ -x "$venv/bin/python" ] && [ "$(cat "$venv/.ready-$1" 2>/dev/null)" = "$digest" ]
}
# Whatever is installed for a larger level serves "run", too.
done_already() { ready "$level" || { [ "$level" = run ] && { ready dev || ready docs; }; }; }

suits() { # PYTHON
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

find_python() {
    local python
    for python in ${PYTHON:-python3 python3.13 python3.12 python3.11}; do
        if suits "$python"; then echo "$python"; return; fi
    done
    return 1
}

install_debian_packages() {
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
        say "Python 3.11 or newer with its venv module is needed. On Debian or Ubuntu:"
        say "    sudo apt-get install python3 python3-venv"
        say "Or name another interpreter: make PYTHON=/path/to/python3.11"
        exit 1
    fi
    say "installing python3-venv"
    # A broken third-party source fails the update but not what is needed here.
    apt-get update -qq || say "apt-get update failed, going on with what is known"
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
        python3 python3-venv >/dev/null
}

# Debian's python3 has the venv module, but without the package python3-venv no ensurepip to fill it.
can_make_venv() { "$1" -c 'import ensurepip, venv' 2>/dev/null; }

# A tree that was moved or copied has scripts in .venv that point to the old place.
venv_is_sound() {
    grep -qsF "$venv" "$venv/bin/activate" && suits "$venv/bin/python" &&
        "$venv/bin/python" -m pip --version >/dev/null 2>&1
}

make_venv() {
    local python
    if ! { python=$(find_python) && can_make_venv "$python"; }; then
        install_debian_packages
        if ! { python=$(find_python) && can_make_venv "$python"; }; then
            say "no Python 3.11 or newer that can make a virtual environment was found"
            exit 1
        fi
    fi
    rm -rf "$venv"
    "$python" -m venv "$venv"
}

install() { "$venv/bin/python" -m pip --disable-pip-version-check --no-input install --quiet "$@"; }

if done_already; then exit; fi
if command -v flock >/dev/null; then
    exec 9<scripts/setup.sh
    flock 9
    if done_already; then exit; fi
fi

say "preparing .venv (level $level), once"
venv_is_sound || make_venv
# Levels that are ready stay so: their pins agree, and none removes what another installed.
for mark in run dev docs; do ready "$mark" || rm -f "$venv/.ready-$mark"; done
install --require-hashes --only-binary :all: -r "$pins"
install --no-deps --no-build-isolation -e .
if [ "$level" = dev ] && [ -f "$example/pyproject.toml" ]; then
    install --no-deps --no-build-isolation -e "$example"
fi
echo "$digest" >"$venv/.ready-$level"
