"""All backends that the suite is run on. One more is one more class here, and its line in PLACES."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Protocol

from rota.backends.backend import Backend, TaskRef
from rota.backends.kubernetes.backend import KubernetesBackend
from rota.backends.kubernetes.options import PodOptions
from rota.backends.kubernetes.pod_calls import PodCalls
from rota.backends.process.client.backend import ProcessBackend
from rota.backends.process.folders import Folders
from rota.backends.process.options import KeeperOptions
from rota.kube.api.client import Client
from rota.model.ids import NodeName
from tests.backends.witness import PATIENCE_S, Witness, collecting
from tests.real.agents.stand import AgentProcess, Stand
from tests.real.kube_node.api import NodesAccess
from tests.real.kube_node.images import BUSYBOX
from tests.real.process.host import end


class Place(Protocol):
    """Where tasks run, whoever talks to it. Tests know nothing of it but what a backend tells: they share
    no folder with tasks, and no host."""

    node: NodeName
    price_micro_per_hour: int
    """Of that node, as somebody set it."""
    pace: int
    """Times that tasks of one start may begin apart, in units of what they do on this machine."""

    def backend(self) -> Backend:
        """Another one each time, as after a restart; all of them for the same tasks."""

    async def ready(self) -> None:
        """Waits until the node of the backend that was opened last takes tasks."""

    async def clear(self) -> None:
        """Nothing of what was started here is left."""


class ThisMachine:
    node = NodeName("here")
    price_micro_per_hour = 120_000
    pace = 1

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "backend"

    def backend(self) -> Backend:
        return ProcessBackend(
            self._folder,
            self.node,
            keeper=KeeperOptions(idle_ms=2_000),
            price_micro_per_hour=self.price_micro_per_hour,
        )

    async def ready(self) -> None:
        pass

    async def clear(self) -> None:
        await end(self._folder)


class AnAgent:
    """Another process of this machine, and a server that it dials, at the same place each time."""

    node = NodeName("there")
    price_micro_per_hour = 120_000
    pace = 1

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._agent: AgentProcess | None = None
        self._stand: Stand | None = None

    def backend(self) -> Backend:
        self._stand = Stand(self._folder / "server")
        return self._stand

    async def ready(self) -> None:
        assert self._stand is not None
        await self._stand.let_in()
        if self._agent is None:
            self._agent = AgentProcess(self._folder / "agent", self.node, self._stand.target)
            self._agent.start("--config", str(self._price()))
        await self._stand.has_ready(self.node)

    def _price(self) -> Path:
        settings = self._folder / "rota.toml"
        settings.write_text('[worker]\nprice_per_hour = "0.12"\n')
        return settings

    async def clear(self) -> None:
        if self._agent is not None:
            await self._agent.remove()


class APod:
    """A pod of a real node, in a namespace of the test's own."""

    price_micro_per_hour = 120_000
    pace = 8

    def __init__(self, folder: Path, nodes: NodesAccess) -> None:
        self.node = NodeName(nodes.nodes[0])
        self._folder = folder
        self._nodes = nodes
        self._namespace = nodes.api.new_namespace()

    def backend(self) -> Backend:
        client = Client(self._nodes.cluster.access(namespace=self._namespace))
        options = PodOptions(support_image=BUSYBOX, default_image=BUSYBOX)
        self._backend = KubernetesBackend(
            PodCalls(client, self._namespace, options),
            Folders(self._folder / "kept"),
            Folders(self._folder / "inputs"),
            price_micro_per_hour=self.price_micro_per_hour,
        )
        return self._backend

    async def ready(self) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not ((node := await self._backend.node(self.node)) and node.ready):
                await asyncio.sleep(0.05)

    async def clear(self) -> None:
        self._nodes.api.end_pods(self._namespace)


PLACES: Mapping[str, Callable[[Path], Place]] = {"process": ThisMachine, "agent": AnAgent}
"""Each is given a folder of its own. Beside these, there is `APod`, for which a cluster is started once."""


@asynccontextmanager
async def opened(place: Place, *expected: TaskRef) -> AsyncIterator[Witness]:
    """What runs goes on when it is left. `expected`: what the backend is asked to take up from before."""
    witness = Witness(place.backend())
    async with collecting(witness):
        taken = await witness.backend.take_up([(ref, place.node) for ref in expected])
        assert set(taken) == set(expected)
        await place.ready()
        yield witness
