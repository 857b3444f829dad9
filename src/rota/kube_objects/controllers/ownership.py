"""Who made which pod: as owner references say, through all that stands between."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from rota.kube_objects.namespaces import namespace_of
from rota.kube_objects.objects.metadata import KubeObject, Metadata
from rota.kube_objects.objects.pods import Pod

_MAKES_ANEW = frozenset({"CronJob", "Workload"})
"""What a CronJob made is no part of what it makes when it is due. A Workload waits with its Job."""


class ObjectKey(NamedTuple):
    kind: str
    namespace: str
    name: str


class Ownership:
    def __init__(self, controllers: Iterable[tuple[str, KubeObject]], pods: Iterable[Pod]) -> None:
        """`controllers`: with their kinds."""
        self._owners = {
            _key(kind, found.metadata): tuple(_owners(found.metadata)) for kind, found in controllers
        }
        self._uids_of_active: defaultdict[ObjectKey, list[str | None]] = defaultdict(list)
        self._nodes: defaultdict[ObjectKey, set[str]] = defaultdict(set)
        for pod in filter(_is_active, pods):
            for owner, uid in self._makers(pod.metadata):
                self._uids_of_active[owner].append(uid)
                if pod.spec.node_name:
                    self._nodes[owner].add(pod.spec.node_name)

    def active_of(self, kind: str, metadata: Metadata) -> int:
        """Pods that count for it; those of one of the same name that was there before have another uid."""
        uid, uids = metadata.uid, self._uids_of_active.get(_key(kind, metadata), ())
        return sum(uid is None or one is None or one == uid for one in uids)

    def daemons_on(self, metadata: Metadata) -> frozenset[str]:
        return frozenset(self._nodes.get(_key("DaemonSet", metadata), ()))

    def is_made_by_another(self, metadata: Metadata) -> bool:
        """Of these objects: then its pods are counted there."""
        return any(owner in self._owners and owner.kind not in _MAKES_ANEW for owner, _ in _owners(metadata))

    def _makers(self, metadata: Metadata) -> Iterator[tuple[ObjectKey, str | None]]:
        seen: set[ObjectKey] = set()
        ahead = list(_owners(metadata))
        while ahead:
            owner, uid = ahead.pop()
            if owner not in seen:
                seen.add(owner)
                yield owner, uid
                ahead += self._owners.get(owner, ())


def _key(kind: str, metadata: Metadata) -> ObjectKey:
    return ObjectKey(kind, namespace_of(metadata), metadata.name or "")


def _owners(metadata: Metadata) -> Iterator[tuple[ObjectKey, str | None]]:
    for owner in metadata.owner_references or ():
        yield ObjectKey(owner.kind, namespace_of(metadata), owner.name), owner.uid


def _is_active(pod: Pod) -> bool:
    """Neither ended nor being deleted."""
    phase = pod.status.phase if pod.status else None
    return phase not in ("Succeeded", "Failed") and pod.metadata.deletion_timestamp is None
