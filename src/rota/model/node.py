"""Where tasks can run: nodes that exist, and offers of nodes that can be had."""

from __future__ import annotations

from msgspec import Struct, field

from rota.model.ids import Labels, NodeName
from rota.model.resources import Resources
from rota.model.taints import Taint

FACTS = "rota/"
"""Labels that begin so are what a worker found out about its machine: nobody else sets them."""
MACHINE = f"{FACTS}machine"
MOUNT = f"{FACTS}mount-"
"""Followed by which file system: a node has several."""


class Gpus(Struct, frozen=True, cache_hash=True, omit_defaults=True):
    count: int = 0
    model: str = ""


class NodeSpec(Struct, frozen=True, cache_hash=True, omit_defaults=True):
    """What nodes of one kind have in common."""

    capacity: Resources
    gpus: Gpus = Gpus()
    backend: str = "local"
    pool: str = "default"
    labels: Labels = ()
    taints: tuple[Taint, ...] = ()
    price_micro_per_hour: int = 0
    attachable: tuple[tuple[str, int], ...] = ()
    """How much of what `TaskSpec.attached` names it has room for."""


class Node(Struct, frozen=True, omit_defaults=True):
    name: NodeName
    spec: NodeSpec
    ready: bool = True
    cordoned: bool = False
    load_milli: int = 0
    """Measured load, 1000 = fully busy; 0 where nobody measures."""
    memory_used_bytes: int = 0
    """Measured, by whomever; 0 where nobody measures."""
    memory_others_bytes: int = 0
    """What programs that aren't tasks take of the memory that tasks could have."""
    images: dict[str, int] = field(default_factory=dict)
    """Images of containers that it has, by name, with their sizes in bytes."""


class Offer(Struct, frozen=True, omit_defaults=True):
    """Nodes that a backend would start on request: an instance type in a zone, a function region."""

    name: str
    spec: NodeSpec
    limit: int
    startup_ms: int = 0
