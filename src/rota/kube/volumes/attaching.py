"""How many volumes of a driver nodes can hold, and who holds which of them now.

A volume counts once on a node, however many pods use it there: for the first of them, by name. One that is
attached though no pod uses it any more takes room as well.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeAlias

from rota.kube.api.objects import CsiNode
from rota.kube_objects.volumes import ClaimKey
from rota.model.ids import NodeName, TaskName
from rota.model.resources import VOLUMES


class Attached(NamedTuple):
    driver: str
    handle: str


AttachedOf: TypeAlias = Callable[[ClaimKey], Attached | None]


class Attaching:
    def __init__(self) -> None:
        self._limits: dict[NodeName, dict[str, int]] = {}
        self._drivers: Counter[str] = Counter()
        """How many nodes have a limit for each."""
        self._users: defaultdict[ClaimKey, dict[TaskName, NodeName]] = defaultdict(dict)
        """Pods that have a node, by the claims that they use."""
        self._on_node: defaultdict[NodeName, Counter[ClaimKey]] = defaultdict(Counter)

    # -- told

    def limits(self, name: NodeName, told: CsiNode | None) -> bool:
        """Whether other drivers are limited than before."""
        before = set(self._drivers)
        self._drivers.subtract(self._limits.pop(name, {}).keys())
        drivers = (told and told.spec and told.spec.drivers) or ()
        limits = {
            one.name: one.allocatable.count
            for one in drivers
            if one.allocatable is not None and one.allocatable.count is not None
        }
        if limits:
            self._limits[name] = limits
            self._drivers.update(limits.keys())
        self._drivers = +self._drivers
        return before != set(self._drivers)

    def placed(self, name: TaskName, claims: Iterable[ClaimKey], node: NodeName) -> None:
        for claim in set(claims):
            self._users[claim][name] = node
            self._on_node[node][claim] += 1

    def gone(self, name: TaskName, claims: Iterable[ClaimKey]) -> None:
        for claim in set(claims):
            users = self._users.get(claim)
            node = users.pop(name, None) if users is not None else None
            if node is None:
                continue
            if not self._users[claim]:
                del self._users[claim]
            self._on_node[node][claim] -= 1
            self._on_node[node] = +self._on_node[node]
            if not self._on_node[node]:
                del self._on_node[node]

    # -- asked

    @property
    def any(self) -> bool:
        return bool(self._drivers)

    def is_limited(self, driver: str) -> bool:
        return driver in self._drivers

    def counts_for(self, name: TaskName, claim: ClaimKey) -> bool:
        """Whether a pod takes room for it; if it has no node yet: wherever it goes."""
        users = self._users.get(claim)
        if not users:
            return True
        node = users.get(name)
        return node is not None and name == min(one for one, there in users.items() if there == node)

    def full(self, wanted: set[Attached], attached_of: AttachedOf) -> set[NodeName]:
        """Nodes that can't hold these beside what is there: for pods that share volumes with others."""
        found = set()
        for node, limits in self._limits.items():
            there = self.held(node, attached_of)
            before = Counter(one.driver for one in there)
            after = before + Counter(one.driver for one in wanted - there)
            if any(before[driver] < after[driver] > limit for driver, limit in limits.items()):
                found.add(node)
        return found

    def held(self, node: NodeName, attached_of: AttachedOf) -> set[Attached]:
        claims = self._on_node.get(node, ())
        return {attached for claim in claims if (attached := attached_of(claim)) is not None}

    def room(self, node: NodeName, strays: Counter[str]) -> Iterator[tuple[str, int]]:
        """`strays`: volumes by driver that are attached though no pod uses them."""
        for driver, limit in sorted(self._limits.get(node, {}).items()):
            yield f"{VOLUMES}{driver}", max(0, limit - strays[driver])
