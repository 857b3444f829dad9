"""What this machine has to offer, as it is now: said in the hello and with each heartbeat."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from rota.backends.process.client.gpus import find_gpus
from rota.backends.process.client.machine import ALL, this_machine
from rota.model.ids import Labels, NodeName
from rota.model.node import Node
from rota.model.resources import Resources
from rota.model.taints import Taint


class Offering(Struct, frozen=True):
    """What operators say of the machine."""

    share: Resources = ALL
    """What jobs may have of it; 0 of a resource: all."""
    price_micro_per_hour: int = 0
    pool: str = "default"
    labels: Labels = ()
    taints: tuple[Taint, ...] = ()
    memory_margin_bytes: int = 0
    """What other programs may use without jobs getting less; 0: a tenth."""


class Machine:
    def __init__(
        self,
        name: NodeName,
        folder: Path,
        offering: Offering,
        keeper: Callable[[], int | None] = lambda: None,
    ) -> None:
        """`keeper`: the process that tasks descend from, at the moment."""
        self._keeper = keeper
        self._name = name
        self._folder = folder
        self._offering = offering
        self.found = find_gpus()

    def look(self) -> Node:
        said = self._offering
        node = this_machine(
            self._name,
            "agents",
            self._folder,
            self.found.gpus,
            said.share,
            said.price_micro_per_hour,
            said.memory_margin_bytes,
            self._keeper(),
        )
        labels = tuple(sorted((dict(node.spec.labels) | dict(said.labels)).items()))
        return replace(node, spec=replace(node.spec, pool=said.pool, labels=labels, taints=said.taints))
