from __future__ import annotations

import pytest

from rota.loop.live.unknown_starts import why_unknown
from rota.model.estimate import NoStart
from rota.model.ids import JobId
from rota.model.reasons import AwaitsPartner, Insufficient, QueuePaused, QuotaReached
from rota.model.verdict import Kind, Reason, Refusal, Verdict
from rota.plugins.node_ready import NodeCordoned, NodeNotReady
from rota.plugins.node_selector import NodeSelectorUnmet


@pytest.mark.covers("first-4")
@pytest.mark.parametrize(
    ("reasons", "why"),
    [
        ([QueuePaused("q")], NoStart.QUEUE),
        ([QuotaReached(("p",), "cpu", 1)], NoStart.QUOTA),
        ([AwaitsPartner(JobId("1"))], NoStart.PARTNER),
        ([NodeCordoned(), NodeNotReady()], NoStart.NODES),
        ([NodeCordoned(), NodeSelectorUnmet("disk", "ssd")], NoStart.NODES),
        ([NodeCordoned(), Insufficient("cpu", 1)], NoStart.ENDLESS),
        ([], NoStart.ENDLESS),
    ],
)
def test_what_keeps_it_waiting_says_why(reasons: list[Reason], why: NoStart) -> None:
    assert why_unknown(Verdict(Kind.NOT_NOW, tuple(Refusal(one, 1) for one in reasons))) is why
