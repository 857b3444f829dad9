"""Where volumes of a class can be made: by its provisioner, in the topologies it allows, with space left."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from rota.kube.api.objects import CsiDriver, StorageCapacity, StorageClass
from rota.kube.volumes.matching import Wanted, size_of
from rota.kube.volumes.reach import Reach
from rota.kube_objects.namespaces import namespace_of
from rota.kube_objects.selectors import label_selector
from rota.model.ids import NodeName
from rota.model.selectors import NodeTerm, Operator, Requirement, Selector

WAITS_FOR_CONSUMER = "WaitForFirstConsumer"
_BY_HAND = "kubernetes.io/no-provisioner"


class Provision(NamedTuple):
    """Nodes for which a volume can be made; of the others, those that are only short of space."""

    nodes: frozenset[NodeName] | None
    """None: all."""
    too_full: frozenset[NodeName] = frozenset()


NOWHERE = Provision(frozenset())


class Provisioning:
    def __init__(self, reach: Reach) -> None:
        self._reach = reach
        self._drivers: dict[str, CsiDriver] = {}
        self._capacities: dict[tuple[str, str], StorageCapacity] = {}

    def driver(self, old: CsiDriver | None, new: CsiDriver | None) -> None:
        self._drivers.pop((old or new).metadata.name or "", None)  # type: ignore[union-attr]
        if new is not None:
            self._drivers[new.metadata.name or ""] = new

    def capacity(self, old: StorageCapacity | None, new: StorageCapacity | None) -> None:
        if old is not None:
            self._capacities.pop(_key(old), None)
        if new is not None:
            self._capacities[_key(new)] = new

    def of(self, wanted: Wanted, found: StorageClass | None) -> Provision:
        if found is None or found.provisioner in ("", _BY_HAND):
            return NOWHERE
        allowed = self._allowed(found)
        if not self._asks_for_space(found):
            return Provision(allowed)
        everywhere = frozenset(self._reach.nodes) if allowed is None else allowed
        enough = everywhere & self._with_space(wanted)
        return Provision(enough, everywhere - enough)

    def _allowed(self, found: StorageClass) -> frozenset[NodeName] | None:
        if not found.allowed_topologies:
            return None
        terms = []
        for term in found.allowed_topologies:
            expressions = term.match_label_expressions or ()
            conditions = (Requirement(one.key, Operator.IN, tuple(one.values or ())) for one in expressions)
            terms.append(NodeTerm(Selector(tuple(conditions))))
        return self._reach.of(tuple(terms))

    def _asks_for_space(self, found: StorageClass) -> bool:
        driver = self._drivers.get(found.provisioner)
        return driver is not None and driver.spec is not None and bool(driver.spec.storage_capacity)

    def _with_space(self, wanted: Wanted) -> frozenset[NodeName]:
        roomy = (
            one
            for one in self._capacities.values()
            if one.storage_class_name == wanted.storage_class and _most(one) >= wanted.size_bytes
        )
        return frozenset().union(*self._accessible(roomy))

    def _accessible(self, capacities: Iterable[StorageCapacity]) -> Iterable[frozenset[NodeName]]:
        for one in capacities:
            if one.node_topology is not None:
                selector = label_selector(one.node_topology)
                yield self._reach.of((NodeTerm(selector),) if selector.requirements else ())


def _key(capacity: StorageCapacity) -> tuple[str, str]:
    return namespace_of(capacity.metadata), capacity.metadata.name or ""


def _most(capacity: StorageCapacity) -> int:
    largest = capacity.maximum_volume_size
    told = capacity.capacity if largest is None else largest
    return -1 if told is None else size_of(told)


def waits_for_consumer(found: StorageClass | None) -> bool:
    return found is not None and found.volume_binding_mode == WAITS_FOR_CONSUMER
