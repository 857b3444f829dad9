"""Volumes that only some nodes can reach: a pod must go where its bound volumes are."""

from collections.abc import Iterable, Iterator

from rota.intake.kubernetes.namespaces import namespace_of
from rota.intake.kubernetes.objects import PersistentVolume, PersistentVolumeClaim, Volume
from rota.intake.kubernetes.selectors import node_terms
from rota.model.selectors import NodeTerm


class Volumes:
    def __init__(self, volumes: Iterable[PersistentVolume], claims: Iterable[PersistentVolumeClaim]) -> None:
        terms = {
            volume.metadata.name: node_terms(volume.spec.node_affinity.required)
            for volume in volumes
            if volume.spec and volume.spec.node_affinity
        }
        self._terms_by_claim = {
            (namespace_of(claim.metadata), claim.metadata.name): terms[claim.spec.volume_name]
            for claim in claims
            if claim.spec and claim.spec.volume_name in terms
        }

    def terms_of(
        self, volumes: list[Volume] | None, namespace: str, pod: str
    ) -> Iterator[tuple[NodeTerm, ...]]:
        """Of each bound volume the alternatives of which one must hold."""
        if not self._terms_by_claim:
            return
        for volume in volumes or ():
            terms = self._terms_by_claim.get((namespace, _claim_name(volume, pod)))
            if terms:
                yield terms


def _claim_name(volume: Volume, pod: str) -> str | None:
    if volume.persistent_volume_claim is not None:
        return volume.persistent_volume_claim.claim_name
    return f"{pod}-{volume.name}" if volume.ephemeral is not None else None
