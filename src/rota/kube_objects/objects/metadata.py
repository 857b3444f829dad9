"""What all objects have in common: their metadata, quantities, conditions."""

from datetime import datetime
from typing import Annotated, Any, TypeAlias

from msgspec import Meta, Struct

Quantity: TypeAlias = str | int | float
ResourceList: TypeAlias = dict[str, Quantity]
Timestamp: TypeAlias = Annotated[datetime, Meta(tz=True)]
NonEmpty: TypeAlias = Annotated[str, Meta(min_length=1)]
Priority: TypeAlias = Annotated[int, Meta(ge=-(2**31), lt=2**31)]


class KubeStruct(Struct, rename="camel", omit_defaults=True, gc=False):
    """To be read only. Without cycles, and many: nothing for the garbage collector to look at."""


class OwnerReference(KubeStruct):
    kind: str
    name: str
    uid: str | None = None


class Metadata(KubeStruct):
    name: str | None = None
    generate_name: str | None = None
    namespace: str | None = None
    uid: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, Any] | None = None
    creation_timestamp: Timestamp | None = None
    deletion_timestamp: Timestamp | None = None
    owner_references: list[OwnerReference] | None = None
    resource_version: str | None = None


class KubeObject(KubeStruct):
    metadata: Metadata


class Condition(KubeStruct):
    type: str
    status: str | None = None
    reason: str | None = None


class Namespace(KubeObject):
    pass


class ResourceRequirements(KubeStruct):
    requests: ResourceList | None = None
    limits: ResourceList | None = None
