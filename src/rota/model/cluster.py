"""A whole cluster as records: what a snapshot is built from."""

from __future__ import annotations

from msgspec import Struct

from rota.model.calendar import Maintenance, QueueState, Reservation
from rota.model.job import JobRecord
from rota.model.node import Node, Offer


class TenantUsage(Struct, frozen=True):
    """What a tenant used until `as_of_ms`, in base units × seconds, decayed up to then."""

    path: str
    as_of_ms: int
    amounts: tuple[tuple[str, int], ...]


class Calendar(Struct, frozen=True, omit_defaults=True):
    """What is announced ahead, and what operators have done to queues."""

    maintenance: tuple[Maintenance, ...] = ()
    reservations: tuple[Reservation, ...] = ()
    queues: tuple[QueueState, ...] = ()


class ClusterRecords(Struct, frozen=True):
    nodes: tuple[Node, ...] = ()
    offers: tuple[Offer, ...] = ()
    jobs: tuple[JobRecord, ...] = ()
    usage: tuple[TenantUsage, ...] = ()
    calendar: Calendar = Calendar()
