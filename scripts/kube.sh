#!/usr/bin/env bash
# Provides etcd and Kubernetes' own programs for the tests and benchmarks, and prints the folder that they are in.
# KUBEBUILDER_ASSETS names one that has them already; otherwise they are built from source, once for each version:
# KUBE_VERSION, or the newest that Rota is tested with. Arguments name further programs, as "kubelet", which only
# those who ask for them wait for.
set -euo pipefail

version=${KUBE_VERSION:-1.34.4}
if ! [[ $version =~ ^1\.[0-9]+\.[0-9]+$ ]]; then
    echo "KUBE_VERSION: $version is no release of Kubernetes; give one such as 1.30.4" >&2
    exit 1
fi
programs=(kube-apiserver kube-controller-manager kube-scheduler kubectl)
further=("$@")

complete() {
    local program
    for program in etcd kube-apiserver kube-controller-manager kube-scheduler "${further[@]}"; do
        [[ -x $1/$program ]] || return 1
    done
}

if [[ -n ${KUBEBUILDER_ASSETS:-} ]]; then
    if ! complete "$KUBEBUILDER_ASSETS"; then
        echo "KUBEBUILDER_ASSETS: $KUBEBUILDER_ASSETS lacks one of etcd, kube-apiserver, kube-controller-manager," \
            "kube-scheduler ${further[*]}; unset it to have them built" >&2
        exit 1
    fi
    echo "$KUBEBUILDER_ASSETS"
    exit
fi

folder=${XDG_CACHE_HOME:-$HOME/.cache}/rota/kube-$version
mkdir -p "$folder"
# Whoever comes second waits, and finds all of it.
exec 9>"$folder/.lock"
flock 9

if ! [[ -x $folder/etcd ]]; then
    if ! command -v etcd >/dev/null && [[ $(id -u) == 0 ]] && command -v apt-get >/dev/null; then
        # RUNLEVEL: it is started by whoever needs it, with settings of its own.
        { apt-get update -q && RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -y -q \
            --no-install-recommends etcd-server; } >&2
    fi
    if ! command -v etcd >/dev/null; then
        echo "etcd is missing: apt-get install etcd-server" >&2
        exit 1
    fi
    ln -sf "$(command -v etcd)" "$folder/etcd"
fi

build() { # FOLDER PROGRAM... – where they are built, and those that are to be there
    local source=$1 program missing=()
    shift
    for program in "$@"; do
        [[ -x $folder/$program ]] || missing+=("$program")
    done
    if ! ((${#missing[@]})); then return; fi
    if ! command -v go >/dev/null; then
        echo "Go is missing: it is needed once, to build Kubernetes $version" >&2
        exit 1
    fi
    echo "building ${missing[*]} $version: a few minutes, once" >&2
    rm -rf "$source"
    mkdir -p "$source"
    cd "$source"
    export GOFLAGS=-mod=mod GOTOOLCHAIN=${GOTOOLCHAIN:-local}
    go mod init example.invalid/kube 2>/dev/null
    local mod parts part
    mod=$(go mod download -json "k8s.io/kubernetes@v$version" | sed -n 's/^\t"GoMod": "\(.*\)",$/\1/p')
    # Parts of Kubernetes that are published beside it, under the version that belongs to this one.
    parts=$(awk '$2 == "v0.0.0" && $1 ~ /^k8s.io\// { print $1 }' "$mod" | sort -u)
    {
        echo "require k8s.io/kubernetes v$version"
        echo "replace ("
        for part in $parts; do
            echo "$part => $part v0.${version#1.}"
        done
        echo ")"
    } >>go.mod
    {
        echo "//go:build tools"
        echo "package kube"
        for program in "$@"; do
            echo "import _ \"k8s.io/kubernetes/cmd/$program\""
        done
    } >tools.go
    go mod tidy >&2
    local flags="-s -w -X k8s.io/component-base/version.gitVersion=v$version"
    flags+=" -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=$(cut -d. -f2 <<<"$version")"
    for program in "${missing[@]}"; do
        go build -trimpath -ldflags "$flags" -o "$folder/$program.new" "k8s.io/kubernetes/cmd/$program"
        mv "$folder/$program.new" "$folder/$program"
    done
    cd /
    rm -rf "$source"
}

build "$folder/source" "${programs[@]}"
flock -u 9
if ((${#further[@]})); then
    exec 8>"$folder/.lock-further"
    flock 8
    build "$folder/source-further" "${further[@]}"
fi
echo "$folder"
