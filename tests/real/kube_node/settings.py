"""The settings of one node's containerd, CNI and kubelet.

Paths are the usual ones: a node has a file system of its own over this machine's (see `node`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.real.kube_node.images import PAUSE
from tests.real.kube_node.network import Network

CONTAINERD_SOCKET = "/run/containerd/containerd.sock"
CLUSTER_DOMAIN = "cluster.local"
LEASE_S = 4
"""How long a node may be silent: it renews four times as often, and is soon missed."""
PODS = 250


def containerd(folder: Path, plugins: Path) -> str:
    return f"""\
version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
oom_score = 0
disabled_plugins = [
    "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs",
    "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs",
    "io.containerd.internal.v1.opt",
]
[grpc]
address = "{CONTAINERD_SOCKET}"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "{PAUSE}"
# Without the right to lower it, sandboxes could not be started.
restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "{plugins}"
conf_dir = "{folder}/cni"
[plugins."io.containerd.grpc.v1.cri".containerd]
snapshotter = "overlayfs"
"""


def cni(network: Network, node: int) -> dict[str, Any]:
    first, last = network.pod_addresses(node)
    addresses = {
        "subnet": network.subnet,
        "rangeStart": first,
        "rangeEnd": last,
        "gateway": network.gateway,
    }
    bridge = {
        "type": "bridge",
        "bridge": network.bridge,
        "ipam": {"type": "host-local", "ranges": [[addresses]], "routes": [{"dst": "0.0.0.0/0"}]},
    }
    return {"cniVersion": "0.4.0", "name": "rota", "plugins": [bridge]}


def kubelet(folder: Path, cgroup: str, network: Network, node: int, port: int, minor: int) -> dict[str, Any]:
    """`minor`: of Kubernetes 1, as settings come with versions."""
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": network.node_address(node),
        "port": port,
        "healthzPort": 0,
        "readOnlyPort": 0,
        "tlsCertFile": f"{folder}/kubelet.crt",
        "tlsPrivateKeyFile": f"{folder}/kubelet.key",
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": False},
            "x509": {"clientCAFile": f"{folder}/ca.crt"},
        },
        "authorization": {"mode": "Webhook"},
        "containerRuntimeEndpoint": f"unix://{CONTAINERD_SOCKET}",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{cgroup}",
        "enforceNodeAllocatable": [],
        "failSwapOn": False,
        **({"failCgroupV1": False} if minor >= 31 else {}),
        "oomScoreAdj": 0,
        "makeIPTablesUtilChains": False,
        "clusterDNS": [network.gateway],
        "clusterDomain": CLUSTER_DOMAIN,
        "resolvConf": f"{folder}/resolv.conf",
        "volumePluginDir": f"{folder}/volume-plugins",
        "maxPods": PODS,
        "nodeLeaseDurationSeconds": LEASE_S,
        "nodeStatusUpdateFrequency": "1s",
        "nodeStatusReportFrequency": "10s",
        "serializeImagePulls": False,
        # This machine's disk is full of other things: nothing of a test is taken away for that.
        "evictionHard": {"memory.available": "64Mi", "nodefs.available": "0%", "imagefs.available": "0%"},
        "imageGCHighThresholdPercent": 100,
    }
