"""Evictions as reasons: what jobs that ran and are evicted wait for until the next cycle, and where nobody
could be evicted."""

from __future__ import annotations

from typing import ClassVar

from rota.model.ids import JobId
from rota.model.plan import EvictionCause
from rota.model.verdict import ROOM, Reason, Rule, TypedReason, Unblock, not_now


class NobodyToEvict(TypedReason, frozen=True, tag="nobody to evict"):
    """Nobody is on the node who may have to go for it."""

    rule: ClassVar[Rule] = not_now("preemption", *ROOM)


class WasPreempted(TypedReason, frozen=True, tag="preempted"):
    rule: ClassVar[Rule] = not_now("preemption", Unblock.NEXT_CYCLE)
    by: JobId = JobId("")
    """Empty: it isn't known by whom."""


class EvictedByTaint(TypedReason, frozen=True, tag="evicted by taint"):
    rule: ClassVar[Rule] = not_now("taints", Unblock.NEXT_CYCLE)


class EvictedForMaintenance(TypedReason, frozen=True, tag="evicted for maintenance"):
    rule: ClassVar[Rule] = not_now("maintenance", Unblock.NEXT_CYCLE)


def reason_of_eviction(cause: EvictionCause, by: JobId) -> Reason:
    """Why a job waits that a plan evicts."""
    match cause:
        case EvictionCause.PREEMPTED | EvictionCause.RECLAIMED:
            return WasPreempted(by)
        case EvictionCause.TAINT:
            return EvictedByTaint()
        case EvictionCause.MAINTENANCE:
            return EvictedForMaintenance()
