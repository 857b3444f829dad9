"""What of a pod's claims keeps it from being decided about: in the order in which kube-scheduler looks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rota.kube.api.objects import StorageClass
from rota.kube.mirror.reasons import (
    ClaimAwaited,
    ClaimEnding,
    ClaimLost,
    ClaimMissing,
    ClaimOfAnother,
    ClaimsUnbound,
    Hold,
    VolumeMissing,
)
from rota.kube.volumes.matching import is_bound
from rota.kube.volumes.provisioning import waits_for_consumer
from rota.kube_objects.namespaces import namespace_of
from rota.kube_objects.objects.pods import Pod
from rota.kube_objects.objects.volumes import PersistentVolume, PersistentVolumeClaim
from rota.kube_objects.volumes import ClaimKey, claim_name, class_of, volume_of


def hold_of(
    pod: Pod,
    claims: Mapping[ClaimKey, PersistentVolumeClaim],
    volumes: Mapping[str, PersistentVolume],
    classes: Mapping[str, StorageClass],
) -> Hold | None:
    if not pod.spec.volumes:
        return None
    used = list(_used(pod))
    for key, is_ephemeral in used:
        if not is_ephemeral and key not in claims:
            return ClaimMissing(key.name)
    for key, is_ephemeral in used:
        if (hold := _hold_of_one(pod, key, claims.get(key), is_ephemeral)) is not None:
            return hold
    for key, _ in used:
        claim = claims[key]
        is_chosen_with_node = not volume_of(claim) and waits_for_consumer(classes.get(class_of(claim)))
        if not is_bound(claim) and not is_chosen_with_node:
            return ClaimsUnbound()
    for key, _ in used:
        name = volume_of(claims[key])
        if name and name not in volumes:
            return VolumeMissing(name)
    return None


def _used(pod: Pod) -> Iterator[tuple[ClaimKey, bool]]:
    namespace = namespace_of(pod.metadata)
    for volume in pod.spec.volumes or ():
        if (name := claim_name(volume, pod.metadata.name or "")) is not None:
            yield ClaimKey(namespace, name), volume.ephemeral is not None


def _hold_of_one(
    pod: Pod, key: ClaimKey, claim: PersistentVolumeClaim | None, is_ephemeral: bool
) -> Hold | None:
    if claim is None:
        return ClaimAwaited(key.name)
    if claim.status is not None and claim.status.phase == "Lost":
        return ClaimLost(key.name, volume_of(claim))
    if claim.metadata.deletion_timestamp is not None:
        return ClaimEnding(key.name)
    owners = claim.metadata.owner_references or ()
    if is_ephemeral and not any(owner.uid == pod.metadata.uid for owner in owners):
        return ClaimOfAnother(f"{key.namespace}/{key.name}")
    return None
