#!/usr/bin/env bash
# Prints where Chromium is, for the tests in a real browser. CHROMIUM names another one than the first that is
# found. Installs it only where CI=true: it brings some hundred packages along.
set -euo pipefail

first() {
    local name
    for name in "${CHROMIUM:-}" chromium chromium-browser google-chrome; do
        if [[ -n $name ]] && command -v "$name"; then return; fi
    done
}

found=$(first)
if [[ -z $found && ${CI:-} == true && $(id -u) == 0 ]] && command -v apt-get >/dev/null; then
    {
        apt-get update -q
        DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends chromium
    } >&2
    found=$(first)
fi
if [[ -z $found ]]; then
    echo "Chromium is missing: apt-get install chromium, or name it with CHROMIUM=…" >&2
    exit 1
fi
echo "$found"
