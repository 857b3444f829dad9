"""How many volumes of a driver nodes can hold, and who holds which of them now.

A volume counts once on a node, however many pods use it there: for the first of them, by name. One that is
attached though no pod uses it any more takes room as well.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from rota.kube.api.objects import CsiNode, StorageClass, VolumeAttachment
from rota.kube_objects.objects.volumes import PersistentVolume, PersistentVolumeClaim
from rota.kube_objects.volumes import ClaimKey, class_of, volume_of
from rota.model.ids import NodeName, TaskName
from rota.model.resources import VOLUMES
from rota.model.selectors import NodeTerm, Operator, Requirement
from rota.model.task import VolumeNodes, VolumeTrouble


class Attached(NamedTuple):
    driver: str
    handle: str


class Attaching:
    def __init__(
        self,
        claims: Mapping[ClaimKey, PersistentVolumeClaim],
        volumes: Mapping[str, PersistentVolume],
        classes: Mapping[str, StorageClass],
    ) -> None:
        """All that there are, as they change."""
        self._claims = claims
        self._volumes = volumes
        self._classes = classes
        self._limits: dict[NodeName, dict[str, int]] = {}
        self._drivers: Counter[str] = Counter()
        """How many nodes have a limit for each."""
        self._users: defaultdict[ClaimKey, dict[TaskName, NodeName]] = defaultdict(dict)
        """Pods that have a node, by the claims that they use."""
        self._on_node: defaultdict[NodeName, Counter[ClaimKey]] = defaultdict(Counter)
        self._attachments: defaultdict[NodeName, dict[str, str]] = defaultdict(dict)
        """Of each node the volumes that are attached, by the names of the attachments."""

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

    def attachment(self, name: str, old: VolumeAttachment | None, new: VolumeAttachment | None) -> None:
        for one in (old, new):
            if one is not None and one.spec is not None:
                self._attachments[NodeName(one.spec.node_name)].pop(name, None)
        if new is not None and new.spec is not None and new.spec.source is not None:
            volume = new.spec.source.persistent_volume_name or ""
            self._attachments[NodeName(new.spec.node_name)][name] = volume

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

    def rows(self, name: TaskName, claims: Iterable[ClaimKey]) -> Iterator[tuple[str, int]]:
        """How much room a pod takes for its claims, of each driver that is limited."""
        if not self.any:
            return
        counted = {
            attached for key in claims if self._counts_for(name, key) and (attached := self._attached(key))
        }
        for driver, count in Counter(one.driver for one in counted).items():
            if driver in self._drivers:
                yield f"{VOLUMES}{driver}", count

    def rules(self, name: TaskName, claims: Iterable[ClaimKey]) -> Iterator[VolumeNodes]:
        """Of a pod that shares volumes: on nodes that have these already, they take no room."""
        if not self.any or all(self._counts_for(name, key) for key in claims):
            return
        full = self._full({attached for key in claims if (attached := self._attached(key))})
        if full:
            names = Requirement("metadata.name", Operator.NOT_IN, tuple(sorted(full)))
            yield VolumeNodes((NodeTerm(names=(names,)),), VolumeTrouble.LIMIT)

    def room(self, node: NodeName) -> Iterator[tuple[str, int]]:
        if not self.any:
            return
        strays = self._strays(node)
        for driver, limit in sorted(self._limits.get(node, {}).items()):
            yield f"{VOLUMES}{driver}", max(0, limit - strays[driver])

    def _counts_for(self, name: TaskName, claim: ClaimKey) -> bool:
        """Whether a pod takes room for it; if it has no node yet: wherever it goes."""
        users = self._users.get(claim)
        if not users:
            return True
        node = users.get(name)
        return node is not None and name == min(one for one, there in users.items() if there == node)

    def _full(self, wanted: set[Attached]) -> set[NodeName]:
        """Nodes that can't hold these beside what is there: for pods that share volumes with others."""
        found = set()
        for node, limits in self._limits.items():
            there = self._held(node)
            before = Counter(one.driver for one in there)
            after = before + Counter(one.driver for one in wanted - there)
            if any(before[driver] < after[driver] > limit for driver, limit in limits.items()):
                found.add(node)
        return found

    def _held(self, node: NodeName) -> set[Attached]:
        claims = self._on_node.get(node, ())
        return {attached for claim in claims if (attached := self._attached(claim)) is not None}

    def _attached(self, key: ClaimKey) -> Attached | None:
        """None: it isn't of a driver."""
        claim = self._claims.get(key)
        if claim is None:
            return None
        volume = self._volumes.get(volume_of(claim))
        if volume is not None:
            csi = volume.spec and volume.spec.csi
            return Attached(csi.driver, csi.volume_handle) if csi else None
        found = self._classes.get(class_of(claim))
        # Its volume is yet to be made: until then it is known by its claim.
        return Attached(found.provisioner, f"{key.namespace}/{key.name}") if found else None

    def _strays(self, node: NodeName) -> Counter[str]:
        """Volumes by driver that are attached though no pod there uses them."""
        found: set[Attached] = set()
        for name in self._attachments.get(node, {}).values():
            volume = self._volumes.get(name)
            csi = volume.spec.csi if volume is not None and volume.spec is not None else None
            if csi is not None:
                found.add(Attached(csi.driver, csi.volume_handle))
        return Counter(one.driver for one in found - self._held(node))
