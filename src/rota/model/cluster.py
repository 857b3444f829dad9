"""A whole cluster as records: what a snapshot is built from."""

from __future__ import annotations

from msgspec import Struct

from rota.model.job import JobRecord
from rota.model.node import Node, Offer


class TenantUsage(Struct, frozen=True):
    """What a tenant used until `as_of_ms`, in base units × seconds, decayed up to then."""

    path: str
    as_of_ms: int
    amounts: tuple[tuple[str, int], ...]


class ClusterRecords(Struct, frozen=True):
    nodes: tuple[Node, ...] = ()
    offers: tuple[Offer, ...] = ()
    jobs: tuple[JobRecord, ...] = ()
    usage: tuple[TenantUsage, ...] = ()
