"""Answers without the jobs that whoever asks may not see."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rota.model.changes import RaisePriority
from rota.model.explanation import Explanation, Outcome, RefusedNodes, Remedy
from rota.model.extension import Answer, Extension, InTheWay, MovedStart, Obstacle
from rota.model.ids import JobId, NodeName
from rota.model.plan import Eviction, EvictionCause, PluginFault
from rota.model.reasons import (
    AwaitsPartner,
    BehindInStrictQueue,
    EvictedByTaint,
    Insufficient,
    RoomPlanned,
    WasPreempted,
)
from rota.model.verdict import Kind, Reason, Refusal, Verdict
from rota.views.seen import HIDDEN, seen_event, seen_extension, seen_reason, seen_why
from rota.views.why.view import WhyView
from rota.views.wording import reason_text
from tests.words import job

pytestmark = pytest.mark.covers("trust-4")

OWN, OTHER = JobId("17"), JobId("666")
NODE = NodeName("n")


def sees(job_id: JobId) -> bool:
    return job_id == OWN


@pytest.mark.parametrize("reason", [RoomPlanned, AwaitsPartner, BehindInStrictQueue, WasPreempted])
def test_a_reason_names_no_job_of_others(reason: Callable[[JobId], Reason]) -> None:
    assert seen_reason(reason(OWN), sees) == reason(OWN)
    assert OTHER not in reason_text(seen_reason(reason(OTHER), sees))


def test_nor_when_such_a_job_starts() -> None:
    hidden = seen_reason(RoomPlanned(OTHER, 1_800_000_000_000), sees)
    assert "2027" not in reason_text(hidden)


@pytest.mark.parametrize("reason", [RoomPlanned(), WasPreempted(), EvictedByTaint()])
def test_a_reason_that_names_no_job_stays_as_it_is(reason: Reason) -> None:
    assert seen_reason(reason, sees) == reason


def test_other_reasons_stay_as_they_are() -> None:
    reason = Insufficient("cpu", 2000, 1000)
    assert seen_reason(reason, sees) is reason


def test_why() -> None:
    behind = BehindInStrictQueue(OTHER)
    view = WhyView(
        name=OWN,
        explanation=Explanation(
            OWN,
            Outcome.WAITING,
            verdict=Verdict(Kind.NOT_NOW, (Refusal(behind, 0),)),
            refusals=(RefusedNodes(behind, (NODE,)),),
            remedies=(Remedy(RaisePriority(0, 1), evicts=(OWN, OTHER)),),
            faults=(PluginFault("p", "filter", "no", OTHER),),
        ),
        outcome=Outcome.WAITING,
        nodes=(),
        job=job(OWN, {"job": {"preempted_by": (OWN, OTHER)}}),
        is_task=False,
        has_history=False,
        estimate=None,
        evictions=(Eviction(OTHER, 0, NODE, EvictionCause.PREEMPTED, OWN),),
        evicted_from=(),
    )
    shown = seen_why(view, sees)
    assert OTHER not in str(shown)
    assert shown.explanation.remedies[0].evicts == (OWN, HIDDEN)
    assert seen_why(view, lambda _: True) == view


def test_extension() -> None:
    extension = Extension(
        OWN,
        Answer.IN_THE_WAY,
        1000,
        in_the_way=(
            InTheWay(Obstacle.PROMISE, OTHER, 5, (NODE,)),
            InTheWay(Obstacle.RESERVATION, "exam", 5, (NODE,)),
        ),
        moved=(MovedStart(OWN, 1, 2), MovedStart(OTHER, 3, 4)),
    )
    shown = seen_extension(extension, sees)
    assert OTHER not in str(shown)
    assert (shown.moved, shown.others_moved) == ((MovedStart(OWN, 1, 2),), 1)
    assert [one.name for one in shown.in_the_way] == [HIDDEN, "exam"]
    assert seen_extension(extension, lambda _: True) == extension


@pytest.mark.parametrize(
    ("data", "seen"),
    [
        ({"event": "Started", "rank": 0}, {"event": "Started", "rank": 0}),
        ({"event": "Evicted", "cause": "taint"}, {"event": "Evicted", "cause": "taint"}),
        (
            {"event": "Evicted", "preemptor": OWN, "preemptor_project": "own"},
            {"event": "Evicted", "preemptor": OWN, "preemptor_project": "own"},
        ),
        (
            {"event": "Evicted", "preemptor": OTHER, "preemptor_project": "other", "phase": "pending"},
            {"event": "Evicted", "preemptor": HIDDEN, "phase": "pending"},
        ),
        ({"event": "Evicted", "preemptor": OTHER}, {"event": "Evicted", "preemptor": HIDDEN}),
    ],
)
def test_an_event_names_no_job_of_others(data: dict[str, str], seen: dict[str, str]) -> None:
    assert seen_event(data, lambda project: project == "own") == seen
    assert seen_event(data, lambda _: True) == data
