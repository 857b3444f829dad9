#!/usr/bin/env bash
# Provides what a real Kubernetes node needs beyond scripts/kube.sh, for the tests and benchmarks: kubelet and CoreDNS,
# built from source once, and containerd, CNI's plugins and busybox from Debian. Prints three lines: the folder of
# Kubernetes' programs, CoreDNS, and the folder of CNI's plugins.
set -euo pipefail

coredns_version=1.13.1
# Debian's folder, or the one that most others use.
find_plugins() {
    local folder
    for folder in /usr/lib/cni /opt/cni/bin; do
        if [[ -x $folder/bridge && -x $folder/host-local && -x $folder/loopback ]]; then
            echo "$folder"
            return
        fi
    done
    return 1
}
static_busybox() { command -v busybox >/dev/null && ! ldd "$(command -v busybox)" >/dev/null 2>&1; }
there() {
    command -v containerd && command -v ctr && command -v runc && command -v ip && command -v unshare &&
        command -v nsenter && command -v setpriv && find_plugins && static_busybox
} >/dev/null

if ! there && [[ $(id -u) == 0 ]] && command -v apt-get >/dev/null; then
    {
        # RUNLEVEL: daemons are started by whoever needs them, with settings of their own.
        apt-get update -q
        RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
            containerd runc containernetworking-plugins busybox-static iproute2 util-linux
    } >&2
fi
if ! there; then
    echo "a node's parts are missing: apt-get install containerd runc containernetworking-plugins busybox-static" >&2
    exit 1
fi

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
programs=$("$here/kube.sh" kubelet | tail -1)

folder=${XDG_CACHE_HOME:-$HOME/.cache}/rota/coredns-$coredns_version
mkdir -p "$folder"
# Whoever comes second waits, and finds it.
exec 7>"$folder/.lock"
flock 7
if ! [[ -x $folder/coredns ]]; then
    if ! command -v go >/dev/null; then
        echo "Go is missing: it is needed once, to build CoreDNS $coredns_version" >&2
        exit 1
    fi
    echo "building CoreDNS $coredns_version: a few minutes, once" >&2
    source=$folder/source
    rm -rf "$source"
    mkdir -p "$source"
    cd "$source"
    export GOFLAGS=-mod=mod GOTOOLCHAIN=${GOTOOLCHAIN:-local}
    go mod init example.invalid/coredns 2>/dev/null
    echo "require github.com/coredns/coredns v$coredns_version" >>go.mod
    # Only what answers for the names of a cluster: the whole has 50 plugins, and the clouds' libraries.
    cat >main.go <<'MAIN'
package main

import (
	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/ready"
)

func main() { coremain.Run() }
MAIN
    go mod tidy >&2
    go build -trimpath -ldflags "-s -w" -o "$folder/coredns.new" .
    mv "$folder/coredns.new" "$folder/coredns"
    cd /
    rm -rf "$source"
fi
echo "$programs"
echo "$folder/coredns"
find_plugins
