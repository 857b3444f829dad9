"""A whole cluster as records: what a snapshot is built from."""

from __future__ import annotations

from msgspec import Struct

from rota.model.calendar import Maintenance, QueueState, Reservation
from rota.model.job import Job, JobRecord
from rota.model.node import Node, Offer
from rota.model.run import Dependency


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


class ConditionalJob(Struct, frozen=True):
    """A job that waits, and what has to happen before it waits for room: whoever plans finds out whether it
    has happened."""

    job: Job
    held: bool = False
    depends_on: tuple[Dependency, ...] = ()


class ClusterRecords(Struct, frozen=True):
    nodes: tuple[Node, ...] = ()
    offers: tuple[Offer, ...] = ()
    jobs: tuple[JobRecord, ...] = ()
    usage: tuple[TenantUsage, ...] = ()
    calendar: Calendar = Calendar()
    conditional: tuple[ConditionalJob, ...] = ()
    """Not among the jobs."""
