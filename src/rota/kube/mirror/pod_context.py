"""What is needed to read a pod: namespaces with their labels, claims and their volumes."""

from __future__ import annotations

from collections.abc import Callable

from rota.kube.volumes.book import VolumeBook
from rota.kube_objects.gpus import SharedGpus
from rota.kube_objects.namespaces import Namespaces
from rota.kube_objects.objects.metadata import Namespace
from rota.kube_objects.pods import GangKeys, PodReader
from rota.kube_objects.priority import PriorityClasses
from rota.kube_objects.volumes import ClaimKey

_READINGS_KEPT = 5_000
"""A reader remembers each kind of pod. After this many pods it is replaced, so that its memory is bounded."""


class PodContext:
    """Priority classes aren't needed: admission has written the priorities into the pods."""

    def __init__(self, gang_keys: GangKeys, claim_changed: Callable[[ClaimKey], None]) -> None:
        self.volumes = VolumeBook(claim_changed)
        self.shared_gpus = SharedGpus()
        self._gang_keys = gang_keys
        self._namespaces: dict[str, Namespace] = {}
        self._reader: PodReader | None = None
        self._read = 0

    def namespace(self, old: Namespace | None, new: Namespace | None) -> bool:
        """Whether selectors of namespaces may match other namespaces than before."""
        name = (old or new).metadata.name or ""  # type: ignore[union-attr]
        if new is None:
            self._namespaces.pop(name, None)
        else:
            self._namespaces[name] = new
        if old is not None and new is not None and old.metadata.labels == new.metadata.labels:
            return False
        self._reader = None
        return True

    @property
    def reader(self) -> PodReader:
        self._read += 1
        if self._reader is None or self._read > _READINGS_KEPT:
            namespaces = Namespaces(self._namespaces.values(), ())
            self._reader = PodReader(
                PriorityClasses(()), namespaces, self.volumes, self._gang_keys, self.shared_gpus
            )
            self._read = 0
        return self._reader
