#!/usr/bin/env bash
# Provides Helm's client for the tests of the chart, and prints where it is. One that is installed already is taken;
# otherwise it is built from source, once for each version.
set -euo pipefail

version=3.19.0

if command -v helm >/dev/null; then
    command -v helm
    exit
fi
folder=${XDG_CACHE_HOME:-$HOME/.cache}/rota/helm-$version
mkdir -p "$folder"
# Whoever comes second waits, and finds it.
exec 9>"$folder/.lock"
flock 9
if ! [[ -x $folder/helm ]]; then
    if ! command -v go >/dev/null; then
        echo "Helm is missing, and so is Go, which is needed once to build it: install one of them" >&2
        exit 1
    fi
    echo "building Helm $version: a few minutes, once" >&2
    # Into a folder of its own first: what is broken off halfway isn't taken for the whole.
    GOBIN=$folder/new GOTOOLCHAIN=${GOTOOLCHAIN:-local} \
        go install -trimpath -ldflags "-s -w" "helm.sh/helm/v3/cmd/helm@v$version" >&2
    mv "$folder/new/helm" "$folder/helm"
    rmdir "$folder/new"
fi
echo "$folder/helm"
