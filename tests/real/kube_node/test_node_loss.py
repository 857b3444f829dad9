"""Parts of a node, and whole nodes, go away: Kubernetes tells so, and they come back."""

from __future__ import annotations

import pytest

from tests.real.kube_node.node_cluster import NodeCluster

pytestmark = pytest.mark.slow


def test_a_silent_kubelet_is_missed_and_its_pods_go_on(breakable_nodes: NodeCluster) -> None:
    api, node = breakable_nodes.api, breakable_nodes.nodes[0]
    namespace = api.new_namespace()
    script = "until [ -e /tmp/end ]; do sleep 0.1; done"
    api.create_pod(namespace, "steady", script, nodeName=node.name, terminationGracePeriodSeconds=0)
    api.running(namespace, "steady")
    node.stop("kubelet")
    api.wait_until(lambda: not api.is_ready(node.name))
    node.start_kubelet()
    breakable_nodes.await_ready([node])
    done = api.kubectl("-n", namespace, "exec", "steady", "--", "touch", "/tmp/end")
    assert done.returncode == 0, done.stderr
    pod = api.ended(namespace, "steady")
    assert pod["status"]["phase"] == "Succeeded"
    assert pod["status"]["containerStatuses"][0]["restartCount"] == 0


def test_pods_survive_their_containerd(breakable_nodes: NodeCluster) -> None:
    api, node = breakable_nodes.api, breakable_nodes.nodes[0]
    namespace = api.new_namespace()
    api.create_pod(namespace, "steady", "sleep 3; exit 4", nodeName=node.name)
    api.running(namespace, "steady")
    node.stop("containerd")
    node.start_containerd()
    ended = api.ended(namespace, "steady")
    assert ended["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 4


def test_a_node_without_power_comes_back_without_its_pods(breakable_nodes: NodeCluster) -> None:
    api, node = breakable_nodes.api, breakable_nodes.nodes[1]
    namespace = api.new_namespace()
    api.create_pod(namespace, "lost", "sleep 600", nodeName=node.name, terminationGracePeriodSeconds=0)
    api.running(namespace, "lost")
    node.power_off()
    api.wait_until(lambda: not api.is_ready(node.name))
    node.restart()
    breakable_nodes.await_ready([node])
    ended = api.ended(namespace, "lost")
    assert ended["status"]["phase"] == "Failed"
