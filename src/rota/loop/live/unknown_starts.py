"""Why nobody can tell when a job starts, from what keeps it waiting."""

from __future__ import annotations

from rota.model.estimate import NoStart
from rota.model.reasons import (
    AwaitsPartner,
    LimitReached,
    MemoryInUse,
    QueueClosed,
    QueuePaused,
    QuotaReached,
    WasPreempted,
)
from rota.model.verdict import Kind, Verdict
from rota.plugins.memory import MemoryFull
from rota.plugins.node_ready import NodeCordoned, NodeNotReady
from rota.plugins.taints import UntoleratedPassingTaint

_OUT_OF_SERVICE = (NodeCordoned, NodeNotReady, UntoleratedPassingTaint, MemoryFull, MemoryInUse)


def why_unknown(verdict: Verdict) -> NoStart:
    """Of a job that may start one day, and has no place in the calendar."""
    reasons = [refusal.reason for refusal in verdict.refusals]
    for kinds, found in (
        ((QueuePaused, QueueClosed), NoStart.QUEUE),
        ((QuotaReached, LimitReached), NoStart.QUOTA),
        ((AwaitsPartner,), NoStart.PARTNER),
        ((WasPreempted,), NoStart.NOT_YET),
    ):
        if any(isinstance(reason, kinds) for reason in reasons):
            return found
    passing = [reason for reason in reasons if reason.kind is not Kind.NEVER]
    if passing and all(isinstance(reason, _OUT_OF_SERVICE) for reason in passing):
        return NoStart.NODES
    return NoStart.ENDLESS
