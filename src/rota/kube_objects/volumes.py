"""What a pod's volumes ask of its node: to be where they can be used, and not to use what is in use."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

from msgspec import Struct

from rota.kube_objects.namespaces import namespace_of
from rota.kube_objects.objects.pods import Pod
from rota.kube_objects.objects.volumes import PersistentVolume, PersistentVolumeClaim, Volume
from rota.kube_objects.selectors import node_terms
from rota.model.resources import DISK, WHOLE_DISK
from rota.model.selectors import NodeTerm, Operator, Requirement, Selector
from rota.model.task import VolumeNodes, VolumeTrouble

FOR_ONE_POD = "ReadWriteOncePod"
_ZONE, _REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
_NOW_CALLED = {
    "failure-domain.beta.kubernetes.io/zone": _ZONE,
    "failure-domain.beta.kubernetes.io/region": _REGION,
    _ZONE: _ZONE,
    _REGION: _REGION,
}
_SEPARATOR = "__"
"""Between the zones of a volume that is in several."""
_OLD_CLASS = "volume.beta.kubernetes.io/storage-class"


class ClaimKey(NamedTuple):
    namespace: str
    name: str


class VolumeNeeds(Struct, frozen=True):
    nodes: tuple[VolumeNodes, ...] = ()
    attached: tuple[tuple[str, int], ...] = ()
    alone: tuple[str, ...] = ()
    """Claims that one pod at a time may use."""


NO_VOLUMES = VolumeNeeds()


class VolumeReader(Protocol):
    def needs_of(self, pod: Pod) -> VolumeNeeds: ...


class Volumes:
    """Of files: a claim that isn't bound there is taken to find a volume anywhere."""

    def __init__(self, volumes: Iterable[PersistentVolume], claims: Iterable[PersistentVolumeClaim]) -> None:
        self._volumes = {volume.metadata.name: volume for volume in volumes}
        self._claims = {key_of_claim(claim): claim for claim in claims}

    def needs_of(self, pod: Pod) -> VolumeNeeds:
        if not pod.spec.volumes:
            return NO_VOLUMES
        found = [self._claims[key] for key in claims_of(pod) if key in self._claims]
        bound = (self._volumes.get(volume_of(claim)) for claim in found)
        return VolumeNeeds(
            nodes=tuple(dict.fromkeys(one for volume in bound if volume for one in usable_on(volume))),
            attached=disks_of(pod),
            alone=tuple(sorted({key_of_claim(claim).name for claim in found if is_for_one_pod(claim)})),
        )


# -- claims


def claims_of(pod: Pod) -> Iterator[ClaimKey]:
    namespace = namespace_of(pod.metadata)
    for volume in pod.spec.volumes or ():
        if (name := claim_name(volume, pod.metadata.name or "")) is not None:
            yield ClaimKey(namespace, name)


def claim_name(volume: Volume, pod: str) -> str | None:
    if volume.persistent_volume_claim is not None:
        return volume.persistent_volume_claim.claim_name
    return f"{pod}-{volume.name}" if volume.ephemeral is not None else None


def key_of_claim(claim: PersistentVolumeClaim) -> ClaimKey:
    return ClaimKey(namespace_of(claim.metadata), claim.metadata.name or "")


def volume_of(claim: PersistentVolumeClaim) -> str:
    """Its name; empty: none has been chosen."""
    return (claim.spec and claim.spec.volume_name) or ""


def class_of(found: PersistentVolumeClaim | PersistentVolume) -> str:
    annotations = found.metadata.annotations or {}
    if _OLD_CLASS in annotations:
        return str(annotations[_OLD_CLASS])
    return (found.spec and found.spec.storage_class_name) or ""


def is_for_one_pod(claim: PersistentVolumeClaim) -> bool:
    return claim.spec is not None and FOR_ONE_POD in (claim.spec.access_modes or ())


# -- volumes


def usable_on(volume: PersistentVolume) -> Iterator[VolumeNodes]:
    """Nothing: everywhere."""
    if terms := terms_of(volume):
        yield VolumeNodes(terms)
    for key, value in sorted((volume.metadata.labels or {}).items()):
        if key in _NOW_CALLED:
            yield VolumeNodes(_zone_terms(key, value), VolumeTrouble.ZONE)


def terms_of(volume: PersistentVolume) -> tuple[NodeTerm, ...]:
    """Alternatives of which one must hold; empty: it can be used everywhere."""
    affinity = volume.spec and volume.spec.node_affinity
    return node_terms(affinity.required) if affinity else ()


def _zone_terms(key: str, value: str) -> tuple[NodeTerm, ...]:
    """A node that isn't in any zone is as good as any."""
    zones = tuple(sorted(set(value.split(_SEPARATOR))))
    alternatives: list[tuple[Requirement, ...]] = [(Requirement(key, Operator.IN, zones),)]
    if (new_key := _NOW_CALLED[key]) != key:
        is_new = Requirement(key, Operator.DOES_NOT_EXIST)
        alternatives.append((is_new, Requirement(new_key, Operator.IN, zones)))
    nowhere = tuple(Requirement(one, Operator.DOES_NOT_EXIST) for one in sorted(_NOW_CALLED))
    return tuple(NodeTerm(Selector(one)) for one in (*alternatives, nowhere))


def disks_of(pod: Pod) -> tuple[tuple[str, int], ...]:
    """Shares of disks that pods name themselves: all of them to write, one to read."""
    taken: dict[str, int] = {}
    for volume in pod.spec.volumes or ():
        for name, is_read_only in _disks(volume):
            row = f"{DISK}{name}"
            taken[row] = max(taken.get(row, 0), 1 if is_read_only else WHOLE_DISK)
    return tuple(sorted(taken.items()))


def _disks(volume: Volume) -> Iterator[tuple[str, bool]]:
    if (gce := volume.gce_persistent_disk) is not None:
        yield f"gce/{gce.pd_name}", bool(gce.read_only)
    if (aws := volume.aws_elastic_block_store) is not None:
        yield f"aws/{aws.volume_id}", False
    if (iscsi := volume.iscsi) is not None:
        yield f"iscsi/{iscsi.iqn}", bool(iscsi.read_only)
    if (rbd := volume.rbd) is not None:
        # The same image, if only one of their monitors is the same.
        for monitor in rbd.monitors or ():
            yield f"rbd/{monitor}/{rbd.pool or 'rbd'}/{rbd.image}", bool(rbd.read_only)
