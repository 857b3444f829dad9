"""What pods are read in the light of: namespaces and their labels, claims and the volumes behind them."""

from __future__ import annotations

from collections.abc import Callable

from rota.kube.volumes.book import VolumeBook
from rota.kube_objects.namespaces import Namespaces
from rota.kube_objects.objects import Namespace
from rota.kube_objects.pods import GangKeys, PodReader
from rota.kube_objects.priority import PriorityClasses
from rota.kube_objects.volumes import ClaimKey

_READINGS_KEPT = 5_000
"""A reader remembers each kind of pod that it has read; after so many pods it is a new one."""


class PodContext:
    """Admission has put priorities into pods already: priority classes needn't be known."""

    def __init__(self, gang_keys: GangKeys, claim_changed: Callable[[ClaimKey], None]) -> None:
        self.volumes = VolumeBook(claim_changed)
        self._gang_keys = gang_keys
        self._namespaces: dict[str, Namespace] = {}
        self._reader: PodReader | None = None
        self._read = 0

    def namespace(self, old: Namespace | None, new: Namespace | None) -> bool:
        """Whether selectors of namespaces may mean others than before."""
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
            self._reader = PodReader(PriorityClasses(()), namespaces, self.volumes, self._gang_keys)
            self._read = 0
        return self._reader
