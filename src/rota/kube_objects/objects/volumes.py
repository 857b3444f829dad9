"""Volumes: as pods name them, claims, and what claims are bound to."""

from msgspec import field

from rota.kube_objects.objects.metadata import (
    KubeObject,
    KubeStruct,
    NonEmpty,
    ResourceList,
    ResourceRequirements,
)
from rota.kube_objects.objects.selectors import LabelSelector, NodeSelector


class ClaimVolume(KubeStruct):
    claim_name: NonEmpty


class EphemeralVolume(KubeStruct):
    pass


class GceDisk(KubeStruct):
    pd_name: str = ""
    read_only: bool | None = None


class AwsDisk(KubeStruct):
    volume_id: str = field(default="", name="volumeID")


class IscsiDisk(KubeStruct):
    iqn: str = ""
    read_only: bool | None = None


class RbdImage(KubeStruct):
    monitors: list[str] | None = None
    image: str = ""
    pool: str | None = None
    read_only: bool | None = None


class Volume(KubeStruct):
    name: str
    persistent_volume_claim: ClaimVolume | None = None
    ephemeral: EphemeralVolume | None = None
    gce_persistent_disk: GceDisk | None = None
    aws_elastic_block_store: AwsDisk | None = None
    iscsi: IscsiDisk | None = None
    rbd: RbdImage | None = None


class ClaimSpec(KubeStruct):
    volume_name: str | None = None
    storage_class_name: str | None = None
    access_modes: list[str] | None = None
    resources: ResourceRequirements | None = None
    selector: LabelSelector | None = None
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None


class VolumePhase(KubeStruct):
    phase: str | None = None


class PersistentVolumeClaim(KubeObject):
    spec: ClaimSpec | None = None
    status: VolumePhase | None = None


class VolumeNodeAffinity(KubeStruct):
    required: NodeSelector | None = None


class ClaimReference(KubeStruct):
    name: str = ""
    namespace: str = ""
    uid: str = ""


class CsiVolume(KubeStruct):
    driver: str = ""
    volume_handle: str = ""


class VolumeSpec(KubeStruct):
    node_affinity: VolumeNodeAffinity | None = None
    capacity: ResourceList | None = None
    access_modes: list[str] | None = None
    storage_class_name: str | None = None
    claim_ref: ClaimReference | None = None
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None
    csi: CsiVolume | None = None


class PersistentVolume(KubeObject):
    spec: VolumeSpec | None = None
    status: VolumePhase | None = None
