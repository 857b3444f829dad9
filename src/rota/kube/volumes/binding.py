"""Claims get the volumes that were chosen for them: the cluster's own controllers do it, once they are told.

a volume that is there: it is given the claim's name ─┐
a volume to be made: its claim is given the node's   ─┴► the controller binds both ─► the pod can be bound
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from enum import Enum
from typing import Any, Protocol, TypeVar

import structlog

from rota.kube.api.errors import KubeError
from rota.kube.api.resources import CLAIMS, VOLUMES, Resource
from rota.kube.volumes.book import Reservation, VolumeBook
from rota.kube.volumes.matching import SELECTED_NODE, is_bound
from rota.kube_objects.objects.metadata import KubeObject
from rota.kube_objects.objects.pods import Pod
from rota.kube_objects.objects.volumes import PersistentVolume, PersistentVolumeClaim
from rota.kube_objects.volumes import ClaimKey, claims_of
from rota.model.ids import NodeName, TaskName

T = TypeVar("T", bound=KubeObject)

WITHIN_S = 600.0
_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
"""Says that nobody has kept the volume for this claim by hand: it may be given to others again."""

log = structlog.get_logger()


class Api(Protocol):
    async def patch(self, resource: Resource[T], name: str, change: Any, namespace: str = "") -> T: ...


class VolumesLost(Exception):
    """They won't come: the pod is to be decided about anew."""


class _Fate(Enum):
    BOUND = "bound"
    COMING = "coming"
    LOST = "lost"


class VolumeBinder:
    def __init__(self, client: Api, book: VolumeBook, until: Callable[[Callable[[], bool]], Any]) -> None:
        """`until` returns once something is so of the book."""
        self._client = client
        self._book = book
        self._until = until

    async def provide(self, name: TaskName, pod: Pod) -> None:
        """Returns once all of its claims have volumes. KubeError, VolumesLost or TimeoutError: they don't."""
        reservation = self._book.reservation(name)
        if reservation is not None:
            await self._tell(reservation)
        seen: set[ClaimKey] = set()
        claims = list(dict.fromkeys(claims_of(pod)))

        def fates() -> set[_Fate]:
            return {self._fate(key, seen) for key in claims}

        async with asyncio.timeout(WITHIN_S):
            await self._until(lambda: _Fate.LOST in (now := fates()) or now <= {_Fate.BOUND})
        if fates() - {_Fate.BOUND}:
            raise VolumesLost("one of its claims is gone, or its provisioner gave up")

    async def _tell(self, reservation: Reservation) -> None:
        told: list[PersistentVolume] = []
        try:
            for key, volume in reservation.volumes.items():
                told.append(await self._give(volume, key))
            for key in reservation.made:
                change = {"metadata": {"annotations": {SELECTED_NODE: reservation.node}}}
                await self._client.patch(CLAIMS, key.name, change, key.namespace)
        except KubeError:
            for given in told:
                await self._take_back(given)
            raise

    async def _give(self, name: str, key: ClaimKey) -> PersistentVolume:
        volume, claim = self._book.volume_named(name), self._book.claim_of(key)
        if volume is None or claim is None:
            raise VolumesLost(f"the volume {name} or its claim {key.name} is gone")
        if _is_kept_for(volume, key) and volume.spec and volume.spec.claim_ref and volume.spec.claim_ref.uid:
            return volume
        reference = {
            "kind": "PersistentVolumeClaim",
            "apiVersion": "v1",
            "namespace": key.namespace,
            "name": key.name,
            "uid": claim.metadata.uid,
            "resourceVersion": claim.metadata.resource_version,
        }
        metadata: dict[str, Any] = {"resourceVersion": volume.metadata.resource_version}
        if not _is_kept_for(volume, key):
            metadata["annotations"] = {_BY_CONTROLLER: "yes"}
        change = {"metadata": metadata, "spec": {"claimRef": reference}}
        given = await self._client.patch(VOLUMES, name, change)
        log.info("kube.volume_bound", volume=name, claim=f"{key.namespace}/{key.name}")
        return given

    async def _take_back(self, volume: PersistentVolume) -> None:
        """If the controller hasn't bound it yet: it has changed then, and stays with its claim."""
        metadata = {
            "resourceVersion": volume.metadata.resource_version,
            "annotations": {_BY_CONTROLLER: None},
        }
        change = {"metadata": metadata, "spec": {"claimRef": None}}
        with suppress(KubeError):
            await self._client.patch(VOLUMES, volume.metadata.name or "", change)

    def _fate(self, key: ClaimKey, seen: set[ClaimKey]) -> _Fate:
        """`seen`: claims of which the cluster has shown that it knows what was chosen."""
        claim, reservation = self._book.claim_of(key), self._book.chosen_for(key)
        if claim is None:
            return _Fate.LOST
        if is_bound(claim):
            return _Fate.BOUND
        if reservation is None:
            return _Fate.LOST
        if self._is_known(key, claim, reservation):
            seen.add(key)
        elif key in seen:
            return _Fate.LOST
        return _Fate.COMING

    def _is_known(self, key: ClaimKey, claim: PersistentVolumeClaim, reservation: Reservation) -> bool:
        if key in reservation.volumes:
            volume = self._book.volume_named(reservation.volumes[key])
            return volume is not None and _is_kept_for(volume, key)
        return _selected_node(claim) == reservation.node


def _is_kept_for(volume: PersistentVolume, key: ClaimKey) -> bool:
    reference = volume.spec.claim_ref if volume.spec is not None else None
    return reference is not None and (reference.namespace, reference.name) == key


def _selected_node(claim: PersistentVolumeClaim) -> NodeName:
    return NodeName(str((claim.metadata.annotations or {}).get(SELECTED_NODE, "")))
