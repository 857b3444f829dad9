"""A whole Kubernetes cluster on this machine: a control plane with Kubernetes' own controllers and scheduler,
two real nodes, and DNS. Nothing of it is left when it is removed; and what one left that was killed, the next
removes."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.real.kube.control_plane import ControlPlane
from tests.real.kube_node import cgroups, network
from tests.real.kube_node.api import Api, NodesAccess
from tests.real.kube_node.dns import Dns
from tests.real.kube_node.images import write_images
from tests.real.kube_node.network import Network
from tests.real.kube_node.node import READY_WITHIN_S, Node
from tests.real.kube_node.parts import parts
from tests.real.kube_node.settings import LEASE_S

NODES = 2
_CONTROLLERS = (
    "--node-monitor-period=1s",
    # Soon, as these tests wait for it; but not because this machine is busy for a moment.
    f"--node-monitor-grace-period={3 * LEASE_S}s",
)


class NodeCluster:
    def __init__(self, nodes: int = NODES) -> None:
        self._parts = parts()
        sweep()
        self.folder = Path(tempfile.mkdtemp(prefix="rota-node-"))
        self.nodes: list[Node] = []
        self._dns: Dns | None = None
        self._network: Network | None = None
        self._plane: ControlPlane | None = None
        try:
            self._network = Network(self.folder)
            self._plane = ControlPlane(has_nodes=True)
            self._start(self._plane, self._network, nodes)
        except BaseException:
            self.remove()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()

    @property
    def plane(self) -> ControlPlane:
        assert self._plane is not None
        return self._plane

    @property
    def network(self) -> Network:
        assert self._network is not None
        return self._network

    @property
    def version(self) -> str:
        """Of Kubernetes."""
        found: str = self.api.ask("GET", "/version")["gitVersion"]
        return found.removeprefix("v")

    @property
    def access(self) -> NodesAccess:
        return NodesAccess(
            self.plane.cluster,
            str(self._parts.programs / "kubectl"),
            str(self.plane.kubeconfig()),
            tuple(node.name for node in self.nodes),
            self.network.gateway,
        )

    @property
    def api(self) -> Api:
        return self.access.api

    def node(self, name: str) -> Node:
        return next(node for node in self.nodes if node.name == name)

    def await_ready(self, nodes: Sequence[Node] | None = None) -> None:
        """All of them, if none is named."""
        deadline = time.monotonic() + READY_WITHIN_S
        for node in self.nodes if nodes is None else nodes:
            while not self.api.is_ready(node.name):
                if time.monotonic() > deadline:
                    raise AssertionError(f"{node.name} isn't ready:\n{node.log('kubelet')[-4000:]}")
                time.sleep(0.1)

    def remove(self) -> None:
        for node in self.nodes:
            node.power_off()
        if self._dns is not None:
            self._dns.stop()
        if self._plane is not None:
            self._plane.remove()
        if self._network is not None:
            self._network.remove()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _start(self, plane: ControlPlane, network: Network, nodes: int) -> None:
        plane.start_controller_manager(*_CONTROLLERS)
        plane.start_scheduler()
        self._dns = Dns(self.folder, self._parts.coredns, plane.kubeconfig(), network.gateway)
        images = self.folder / "images.tar"
        write_images(images)
        for number in range(nodes):
            node = Node(self.folder, self._parts, plane, network, number)
            self.nodes.append(node)
            node.start(images)
        self.await_ready()
        self._dns.await_ready()


def sweep() -> None:
    """What those left whose process was killed: their processes are gone, but not their files."""
    for bridge, folder in network.abandoned():
        for number in range(NODES + 1):
            cgroups.remove(f"{bridge}-{number}")
        if folder.name.startswith("rota-node-"):
            shutil.rmtree(folder, ignore_errors=True)
