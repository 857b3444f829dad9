"""What pods are read in the light of: namespaces and their labels, claims and the volumes behind them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias, TypeVar

from rota.intake._fields import Field
from rota.intake.kubernetes.namespaces import Namespaces, namespace_of
from rota.intake.kubernetes.notes import Notes
from rota.intake.kubernetes.objects import (
    Namespace,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    Volume,
)
from rota.intake.kubernetes.pods import GangKeys, PodReader
from rota.intake.kubernetes.priority import PriorityClasses
from rota.intake.kubernetes.volumes import Volumes
from rota.kube.objects import StorageClass
from rota.kube.reasons import ClaimMissing, ClaimNeedsHand, ClaimsUnbound, Hold

Key = TypeVar("Key")
Value = TypeVar("Value")
ClaimKey: TypeAlias = tuple[str, str]
"""Namespace and name."""
_BY_HAND = "kubernetes.io/no-provisioner"
_READINGS_KEPT = 20_000
"""A reader remembers each kind of pod that it has read; after so many pods it is a new one."""


class _NoNotes(Notes):
    """Nothing is left out of a live cluster."""

    def add(self, place: Field, reason: str, subject: str) -> None:
        pass


class Surroundings:
    """Admission has put priorities into pods already: priority classes needn't be known."""

    def __init__(self, gang_keys: GangKeys, claim_changed: Callable[[ClaimKey], None]) -> None:
        self._gang_keys = gang_keys
        self._claim_changed = claim_changed
        self._namespaces: dict[str, Namespace] = {}
        self._volumes: dict[str, PersistentVolume] = {}
        self._claims: dict[ClaimKey, PersistentVolumeClaim] = {}
        self._classes: dict[str, StorageClass] = {}
        self._claim_of_volume: dict[str, ClaimKey] = {}
        self._reader: PodReader | None = None
        self._read = 0
        self._are_volumes_current = True

    # -- told by informers

    def namespace(self, old: Namespace | None, new: Namespace | None) -> bool:
        """Whether selectors of namespaces may mean others than before."""
        _put(self._namespaces, (old or new).metadata.name or "", new)  # type: ignore[union-attr]
        if old is not None and new is not None and old.metadata.labels == new.metadata.labels:
            return False
        self._reader = None
        return True

    def volume(self, old: PersistentVolume | None, new: PersistentVolume | None) -> None:
        name = (old or new).metadata.name or ""  # type: ignore[union-attr]
        _put(self._volumes, name, new)
        self._are_volumes_current = False
        if (claim := self._claim_of_volume.get(name)) is not None:
            self._claim_changed(claim)

    def claim(self, old: PersistentVolumeClaim | None, new: PersistentVolumeClaim | None) -> None:
        metadata = (old or new).metadata  # type: ignore[union-attr]
        key = (namespace_of(metadata), metadata.name or "")
        _put(self._claims, key, new)
        if old is not None and (volume := _volume_of(old)):
            self._claim_of_volume.pop(volume, None)
        if new is not None and (volume := _volume_of(new)):
            self._claim_of_volume[volume] = key
        self._are_volumes_current = False
        self._claim_changed(key)

    def storage_class(self, old: StorageClass | None, new: StorageClass | None) -> None:
        name = (old or new).metadata.name or ""  # type: ignore[union-attr]
        _put(self._classes, name, new)
        for key, claim in self._claims.items():
            if claim.spec is not None and claim.spec.storage_class_name == name:
                self._claim_changed(key)

    # -- asked

    @property
    def reader(self) -> PodReader:
        self._read += 1
        if self._reader is None or self._read > _READINGS_KEPT:
            namespaces = Namespaces(self._namespaces.values(), ())
            self._reader = PodReader(
                PriorityClasses(()), namespaces, self._all_volumes(), self._gang_keys, _NoNotes()
            )
            self._read = 0
        elif not self._are_volumes_current:
            self._reader.look_at(self._all_volumes())
        return self._reader

    def claims_hold(self, pod: Pod) -> Hold | None:
        """What of its claims keeps it from being decided about."""
        for key in claims_of(pod):
            claim = self._claims.get(key)
            if claim is None:
                return ClaimMissing(key[1])
            if not _volume_of(claim):
                found = self._class_of(claim)
                if found is None or found.volume_binding_mode != "WaitForFirstConsumer":
                    return ClaimsUnbound()
                if found.provisioner == _BY_HAND:
                    return ClaimNeedsHand(key[1])
        return None

    def unbound_claims(self, pod: Pod) -> list[ClaimKey]:
        """Claims that get their volumes once a node is chosen."""
        return [key for key in claims_of(pod) if key not in self._claims or not _volume_of(self._claims[key])]

    def _class_of(self, claim: PersistentVolumeClaim) -> StorageClass | None:
        return self._classes.get((claim.spec and claim.spec.storage_class_name) or "")

    def _all_volumes(self) -> Volumes:
        self._are_volumes_current = True
        return Volumes(self._volumes.values(), self._claims.values())


def claims_of(pod: Pod) -> Iterator[ClaimKey]:
    namespace = namespace_of(pod.metadata)
    for volume in pod.spec.volumes or ():
        if (name := _claim_name(volume, pod.metadata.name or "")) is not None:
            yield namespace, name


def _claim_name(volume: Volume, pod: str) -> str | None:
    if volume.persistent_volume_claim is not None:
        return volume.persistent_volume_claim.claim_name
    return f"{pod}-{volume.name}" if volume.ephemeral is not None else None


def _volume_of(claim: PersistentVolumeClaim) -> str:
    return (claim.spec and claim.spec.volume_name) or ""


def _put(known: dict[Key, Value], key: Key, value: Value | None) -> None:
    if value is None:
        known.pop(key, None)
    else:
        known[key] = value
